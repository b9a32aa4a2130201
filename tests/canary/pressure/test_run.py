"""A pressure run against a fake vLLM whose cache is the reference pool."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepwarm._errors import InputError, ServerError
from keepwarm._json import to_json
from keepwarm.canary.pressure import PressureOptions, PressureReport, PressureStep, run_pressure
from keepwarm.canary.pressure.report import pressure_document
from tests.canary.pressure.fake_vllm import FakeVllm, served

SHORT = PressureOptions(flood=(1, 2, 4))
KEY = "sk-a-secret-that-nobody-may-see"
CONTRACT = {
    "schema",
    "mode",
    "warm_prefix_cached_tokens",
    "post_flood_cached_tokens",
    "flood_requests",
    "hot_prefix_preserved",
    "steps",
    "model",
    "block_size",
    "capacity_blocks",
    "hot_prefix_tokens",
    "failed_requests",
    "ttft",
    "counters",
    "seed",
}


def press(fake: FakeVllm, options: PressureOptions = SHORT, **more: Any) -> PressureReport:
    return run_pressure("http://vllm:8000", options, transport=fake.transport, **more)


def timeless(report: PressureReport) -> dict[str, Any]:
    """The document without what a clock measured."""

    def cut(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: cut(item) for key, item in value.items() if "ttft" not in key}
        return [cut(item) for item in value] if isinstance(value, list) else value

    cut_document: dict[str, Any] = cut(json.loads(to_json(pressure_document(report))))
    return cut_document


def test_stock_lru_loses_the_hot_prefix() -> None:
    report = press(FakeVllm(), PressureOptions())
    assert [step.flood_requests for step in report.steps] == [1, 2, 4, 8, 16, 40, 80]
    assert [step.batch_requests for step in report.steps] == [1, 1, 2, 4, 8, 24, 40]
    assert [step.cached_tokens for step in report.steps] == [800, 800, 0, 0, 0, 0, 0]
    assert (report.mode, report.warm_prefix_cached_tokens, report.post_flood_cached_tokens) == (
        "stock",
        800,
        0,
    )
    assert (report.flood_requests, report.failed_requests, report.inconsistencies) == (80, 0, ())
    assert not report.hot_prefix_preserved
    assert report.counters.before == report.counters.after == {}


def test_computecache_keeps_it_and_generates_the_same() -> None:
    active, stock = press(FakeVllm("active"), PressureOptions()), press(FakeVllm(), PressureOptions())
    assert {step.cached_tokens for step in active.steps} == {800}
    assert active.hot_prefix_preserved
    assert (active.mode, active.cold_prefix_cached_tokens) == ("active", 0)
    assert [step.text for step in active.steps] == [step.text for step in stock.steps]
    assert active.counters.before["computecache_decisions_total"] == 0
    assert active.counters.after["computecache_decisions_total"] == 2 + 80 + 7
    assert active.counters.after['computecache_effective_mode{mode="active"}'] == 1


def test_the_document_has_the_contracts_keys() -> None:
    document = pressure_document(press(FakeVllm()))
    assert document["schema"] == "keepwarm.pressure/1"
    assert next(iter(document)) == "schema"
    assert set(document) >= CONTRACT
    assert document["steps"][0]["cached_tokens"] == document["steps"][0]["counter_cached_tokens"] == 800


def test_the_same_seed_sends_the_same_requests_and_another_does_not() -> None:
    first, second, other = FakeVllm(), FakeVllm(), FakeVllm()
    reports = press(first), press(second)
    press(other, PressureOptions(flood=(1, 2, 4), seed=1))
    assert first.bodies == second.bodies
    assert timeless(reports[0]) == timeless(reports[1])
    heads = {tuple(body["prompt"][:16]) for body in first.bodies}
    assert len(heads) == 1 + 4  # the hot prefix, and four one-use prompts
    assert heads.isdisjoint(tuple(body["prompt"][:16]) for body in other.bodies)


def test_requests_are_greedy_streamed_and_of_exact_length() -> None:
    fake = FakeVllm()
    report = press(fake)
    hot, flood = fake.bodies[0], fake.bodies[2]
    assert (len(hot["prompt"]), hot["max_tokens"]) == (808, 8)
    assert (len(flood["prompt"]), flood["max_tokens"]) == (1023, 1)
    for body in fake.bodies:
        assert (body["temperature"], body["seed"], body["stream"], body["model"]) == (0, 0, True, "tiny")
        assert body["stream_options"] == {"include_usage": True}
    assert (report.hot_prefix_tokens, report.flood_prompt_tokens) == (800, 1023)
    assert len({tuple(body["prompt"]) for body in fake.bodies}) == len(fake.bodies)  # every tail is fresh


@settings(max_examples=60, deadline=None)
@given(
    capacity_blocks=st.integers(1, 200),
    block_size=st.sampled_from([1, 8, 16, 32, 128]),
    max_model_len=st.integers(1, 3000),
    hot_tokens=st.none() | st.integers(1, 3000),
    flood_tokens=st.none() | st.integers(1, 3000),
)
def test_no_request_is_ever_too_long(
    capacity_blocks: int,
    block_size: int,
    max_model_len: int,
    hot_tokens: int | None,
    flood_tokens: int | None,
) -> None:
    fake = FakeVllm(capacity_blocks=capacity_blocks, block_size=block_size, max_model_len=max_model_len)
    options = PressureOptions(flood=(1, 3), hot_tokens=hot_tokens, flood_tokens=flood_tokens)
    try:
        report = press(fake, options)
    except ServerError:
        assert fake.bodies == []
        return
    assert report.failures == ()
    assert report.hot_prefix_tokens == (hot_tokens or report.hot_prefix_tokens)
    assert report.flood_prompt_tokens == (flood_tokens or report.flood_prompt_tokens)
    assert report.warm_prefix_cached_tokens == report.hot_prefix_tokens // block_size * block_size
    assert report.inconsistencies == ()


def test_sizes_that_do_not_fit_are_refused_before_anything_is_sent() -> None:
    fake = FakeVllm()
    with pytest.raises(
        ServerError, match=r"hot prefix of 1009 tokens .*max_model_len 1024.* from 16 to 1008"
    ):
        press(fake, PressureOptions(hot_tokens=1009))
    with pytest.raises(ServerError, match="flood prompt of 1024 tokens"):
        press(fake, PressureOptions(flood_tokens=1024))
    with pytest.raises(ServerError, match="no room for a hot prefix of one block, 16 tokens"):
        press(FakeVllm(max_model_len=31))
    assert "/v1/completions" not in fake.paths


def test_the_cache_is_reset_where_the_server_allows_it() -> None:
    used = FakeVllm()
    assert press(used).cache_reset
    assert press(used).cold_prefix_cached_tokens == 0  # the same prompts again, and none is left
    assert used.resets == 2
    closed = FakeVllm(has_reset=False)
    assert not press(closed).cache_reset


def test_prompts_of_an_earlier_run_are_found_out(no_pauses: None) -> None:
    closed = FakeVllm(has_reset=False, capacity_blocks=2000)
    assert press(closed).hot_prefix_preserved
    again = press(closed)
    assert again.cold_prefix_cached_tokens > 0
    assert again.ttft.cold_s is None
    assert not again.consistent
    assert not again.hot_prefix_preserved
    assert "they were not new; take another --seed" in again.inconsistencies[0]
    assert press(closed, PressureOptions(flood=(1, 2, 4), seed=5)).hot_prefix_preserved


def test_a_cache_in_use_is_refused(no_pauses: None) -> None:
    fake = FakeVllm(answers={"/reset_prefix_cache": lambda _: httpx2.Response(200, json={"success": False})})
    with pytest.raises(ServerError, match="refuses to reset its cache"):
        press(fake)
    assert fake.bodies == []
    assert fake.paths.count("/reset_prefix_cache") > 1


def test_every_step_is_told_when_it_is_done() -> None:
    seen: list[PressureStep] = []
    report = press(FakeVllm(), on_step=seen.append)
    assert tuple(seen) == report.steps


def test_repeats_show_what_the_first_hot_request_left() -> None:
    report = press(FakeVllm(), PressureOptions(flood=(4,), repeat=3))
    (step,) = report.steps
    assert [replay.cached_tokens for replay in step.replays] == [0, 800, 800]
    assert (step.cached_tokens, report.post_flood_cached_tokens) == (0, 0)
    assert step.ttft_s == step.replays[0].ttft_s
    assert len(step.flood_ttfts_s) == 4


def test_counters_that_contradict_usage_make_the_run_inconsistent(no_pauses: None) -> None:
    report = press(FakeVllm("active", other_hits=16))
    assert not report.consistent
    assert not report.hot_prefix_preserved
    assert "second hot request: usage says 800 cached tokens, the server's counters 816" in str(
        report.inconsistencies
    )
    assert report.steps[0].counter_cached_tokens == 816


def test_a_counter_that_lags_is_waited_for(no_pauses: None) -> None:
    fake = FakeVllm("active")
    scrapes: list[int] = []

    def late(body: dict[str, Any]) -> httpx2.Response:
        scrapes.append(fake.hit_tokens)  # each scrape tells what was so three scrapes before
        now, fake.hit_tokens = fake.hit_tokens, scrapes[max(0, len(scrapes) - 3)]
        text = "".join(f"{line}\n" for line in fake.metric_lines())
        fake.hit_tokens = now
        return httpx2.Response(200, text=text)

    fake.answers["/metrics"] = late
    assert press(fake).hot_prefix_preserved


def test_a_mode_that_changes_makes_the_run_inconsistent() -> None:
    fake = FakeVllm("active")

    def trip(body: dict[str, Any]) -> httpx2.Response:
        fake.mode = "lru"
        return fake.handle(httpx2.Request("POST", "http://vllm/v1/completions", json=body))

    original = fake.broken
    original[4] = lambda body: (original.clear(), trip(body))[1]
    report = press(fake)
    assert report.mode == "active"
    assert report.inconsistencies == ("the plugin went from mode 'active' to 'lru' while the run lasted",)


@pytest.mark.parametrize("status", [400, 500, 503])
def test_failed_requests_are_counted_with_their_reason(status: int) -> None:
    def fail(body: dict[str, Any]) -> httpx2.Response:
        return httpx2.Response(status, text="out of\norder")

    # 2 is the first flood prompt, 3 the hot request behind it, 4 a flood prompt again.
    report = press(FakeVllm("active", broken={2: fail, 3: fail, 4: fail}))
    assert report.failed_requests == 3
    assert [(failure.reason, failure.requests) for failure in report.failures] == [
        (f"HTTP {status}: out of⏎order", 3)
    ]
    assert [step.failed_requests for step in report.steps] == [2, 1, 0]
    assert report.steps[0].cached_tokens is None
    assert report.steps[0].flood_ttfts_s == (None,)
    assert report.steps[-1].cached_tokens == 800
    assert not report.hot_prefix_preserved


def test_a_server_that_fails_again_and_again_is_given_up() -> None:
    down = {number: lambda _: httpx2.Response(503, text="busy") for number in range(4, 99)}
    fake = FakeVllm(broken=down)
    with pytest.raises(
        ServerError, match="flood of step 2: 5 requests in a row failed, the last with 'HTTP 503: busy'"
    ):
        press(fake, PressureOptions(flood=(1, 40)))
    assert len(fake.bodies) == 4 + 5


STREAMS: dict[str, tuple[str, str]] = {
    "dies": ('data: {"choices": [{"text": "a"}]}\n\n', "the stream ended before its last chunk"),
    "garbage": ("data: {\n\n", "a chunk of the stream is not JSON"),
    "a list": ("data: []\n\n", "a chunk of the stream is no JSON object"),
    "an error": ('data: {"error": {"message": "engine dead"}}\n\n', "the server broke off: "),
    "no content": ("data: [DONE]\n\n", "the stream held no content"),
    "no usage": ('data: {"choices": [{"text": "a"}]}\n\ndata: [DONE]\n\n', "the stream held no usage"),
    "html": ("<html>", "the stream ended before its last chunk"),
}


@pytest.mark.parametrize("name", STREAMS)
def test_a_broken_stream_is_a_failed_request(name: str) -> None:
    text, reason = STREAMS[name]
    report = press(FakeVllm(broken={2: lambda _: httpx2.Response(200, text=text)}))
    assert report.failed_requests == 1
    assert report.failures[0].reason.startswith(reason)


def test_a_hot_prefix_that_cannot_be_warmed_is_refused() -> None:
    fake = FakeVllm(broken={1: lambda _: httpx2.Response(500, text="engine dead")})
    with pytest.raises(
        ServerError, match="second hot request to http://vllm:8000 failed: HTTP 500: engine dead"
    ):
        press(fake)


def test_a_server_that_dies_in_mid_stream_is_a_failure_then_a_refusal() -> None:
    fake = FakeVllm()

    def die(body: dict[str, Any]) -> httpx2.Response:
        fake.answers["/metrics"] = httpx2.ConnectError("refused")
        return httpx2.Response(200, text=STREAMS["dies"][0], headers={"x-promised": "999"})

    fake.broken[2] = die
    with served(fake) as url, pytest.raises(ServerError) as caught:
        run_pressure(url, SHORT)
    assert f"{url}/metrics" in str(caught.value)


def refusals() -> dict[str, tuple[FakeVllm, str]]:
    def says(text: str, status: int = 200) -> Callable[[dict[str, Any]], httpx2.Response]:
        return lambda _: httpx2.Response(status, text=text)

    def shows(path: str, answer: Any) -> FakeVllm:
        return FakeVllm(answers={path: answer})

    config = 'vllm:cache_config_info{{block_size="16",engine="{}",num_gpu_blocks="{}"}} 1.0\n'
    none_yet, one, two = config.format(0, None), config.format(0, 128), config.format(1, 128)
    return {
        "refused": (
            shows("/v1/models", httpx2.ConnectError("refused")),
            "cannot reach http://vllm:8000/v1/models",
        ),
        "slow": (shows("/v1/models", httpx2.ReadTimeout("")), "ReadTimeout; start the server"),
        "no key": (FakeVllm(key=KEY), "answered 401.*KEEPWARM_API_KEY"),
        "404": (shows("/v1/models", says("no", 404)), "answered 404: 'no'; is this the address of vLLM"),
        "500": (shows("/v1/models", says("no", 500)), "answered 500: 'no'; look at the server's log"),
        "a redirect": (shows("/v1/models", says("", 307)), "answered 307"),
        "html": (shows("/v1/models", says("<html>")), "not JSON; is this vLLM"),
        "a list": (shows("/v1/models", says("[]")), "no JSON object"),
        "no data": (shows("/v1/models", says("{}")), "lists no models"),
        "no models": (shows("/v1/models", says('{"data": []}')), "lists nothing"),
        "a gateway": (shows("/v1/models", says('{"data": [{"id": "gpt"}]}')), "no max_model_len for 'gpt'"),
        "no metrics": (shows("/metrics", says("", 404)), "/metrics answered 404"),
        "metrics are html": (
            shows("/metrics", says("<!DOCTYPE html>\n<title>It works</title>")),
            "no Prometheus text",
        ),
        "no pool": (shows("/metrics", says("")), "no vllm:cache_config_info"),
        "no pool yet": (shows("/metrics", says(none_yet + "vllm:prefix_cache_hits_total 0\n")), "'None'"),
        "no hits": (shows("/metrics", says(one)), "no vllm:prefix_cache_hits_total"),
        "engines": (
            shows("/metrics", says(one + two + "vllm:prefix_cache_hits_total 0\n")),
            "runs 2 engines",
        ),
        "no ids": (shows("/tokenize", says('{"tokens": ["a"]}')), "without a list of token ids"),
        "few ids": (shows("/tokenize", says('{"tokens": [1, 2]}')), "to 2 different tokens"),
        "reset is mute": (shows("/reset_prefix_cache", says("{}")), "does not say whether it did"),
        "reset fails": (shows("/reset_prefix_cache", says("", 500)), "/reset_prefix_cache answered 500"),
        "no details": (FakeVllm(tells_details=False), "--enable-prompt-tokens-details"),
        "no caching": (FakeVllm(caches=False), "--enable-prefix-caching"),
    }


@pytest.mark.parametrize("name", refusals())
def test_a_server_that_cannot_be_measured_is_refused_in_one_line(name: str) -> None:
    fake, message = refusals()[name]
    with pytest.raises(ServerError, match=message) as caught:
        press(fake)
    assert "\n" not in str(caught.value)


def test_another_model_is_asked_by_name() -> None:
    with pytest.raises(ServerError, match="does not serve 'big', it lists 'an-adapter', 'tiny'"):
        press(FakeVllm(), PressureOptions(model="big"))
    assert press(FakeVllm(), PressureOptions(model="tiny", flood=(1,))).model == "tiny"


def test_the_key_opens_the_server_and_is_never_repeated() -> None:
    report = press(FakeVllm(key=KEY), api_key=f" {KEY}\n")
    assert KEY not in str(report)

    def repeats(body: dict[str, Any]) -> httpx2.Response:
        return httpx2.Response(500, text=f"the key {KEY} is tired")

    flooded = press(FakeVllm(key=KEY, broken={2: repeats}), api_key=KEY)
    assert flooded.failures[0].reason == "HTTP 500: the key ‹key› is tired"
    with pytest.raises(ServerError) as caught:
        press(FakeVllm(key=KEY, answers={"/tokenize": repeats}), api_key=KEY)
    assert KEY not in str(caught.value)
    with pytest.raises(InputError) as refused:
        press(FakeVllm(), api_key=f"{KEY}é")
    assert KEY not in str(refused.value)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://vllm",
        "vllm:8000",
        "",
        "http://",
        "http://vllm:port",
        "http://vllm/?key=abc",
        "http://me:abc@vllm:port",
    ],
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(InputError) as caught:
        run_pressure(url, SHORT, transport=FakeVllm().transport)
    assert "abc" not in str(caught.value)


def test_the_address_may_end_with_v1() -> None:
    fake = FakeVllm()
    run_pressure("http://vllm:8000/v1/", SHORT, transport=fake.transport)
    assert "/metrics" in fake.paths


@pytest.mark.parametrize(
    "options",
    [
        PressureOptions(hot_tokens=0),
        PressureOptions(flood_tokens=-1),
        PressureOptions(flood=()),
        PressureOptions(flood=(0, 1)),
        PressureOptions(flood=(1, 1)),
        PressureOptions(flood=(2, 1)),
        PressureOptions(repeat=0),
        PressureOptions(output_tokens=0),
        PressureOptions(timeout_s=float("nan")),
        PressureOptions(timeout_s=0),
        PressureOptions(seed=2**63),
    ],
)
def test_senseless_options_are_refused_before_the_server_is_asked(options: PressureOptions) -> None:
    fake = FakeVllm()
    with pytest.raises(InputError):
        press(fake, options)
    assert fake.paths == []


def test_over_a_real_connection() -> None:
    with served(FakeVllm("active")) as url:
        report = run_pressure(url, SHORT)
    assert report.hot_prefix_preserved
    assert report.ttft.warm_s > 0
