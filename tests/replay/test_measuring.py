"""A measured replay against a fake vLLM whose cache is the reference pool."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import stat
import threading
from pathlib import Path
from typing import Any

import httpx2
import pytest

from keepwarm._errors import InputError, ServerError
from keepwarm.replay.measuring import run as run_module
from keepwarm.replay.measuring.files import read_run
from keepwarm.replay.measuring.run import RunInterrupted
from tests.canary.pressure.fake_vllm import served
from tests.replay.conftest import Replay
from tests.replay.fake_server import ReplayVllm
from tests.replay.traces import RULES, TOOL, chat, repaired

ERROR = httpx2.Response(500, text="engine dead")


def test_every_figure_is_the_servers(replay: Replay, tmp_path: Path) -> None:
    fake = ReplayVllm()
    run = replay(fake, repaired())
    rows = read_run(tmp_path / "before").rows
    assert run.tokens.cached == fake.hit_tokens == sum(row.cached_tokens or 0 for row in rows)
    assert run.tokens.prompt == fake.query_tokens
    assert run.hit_rate == fake.hit_tokens / fake.query_tokens > 0.6
    assert run.counters["vllm:prefix_cache_hits_total"].rise == fake.hit_tokens
    assert (run.requests.ok, run.requests.failed, run.requests.not_sent) == (12, 0, 0)
    assert (run.inconsistencies, run.failures) == ((), ())
    assert (run.server.vllm, run.server.model, run.server.device_type) == ("0.32.0", "tiny", "cpu")
    assert (run.server.block_size, run.server.capacity_blocks, run.server.mode) == (4, 127, "stock")
    assert (run.reset.state, run.reset.first_wave_least_cached_tokens, fake.resets) == ("reset", 0, 1)
    assert [row.id for row in rows] == [f"r{number}" for number in range(12)]
    assert all(row.ttft_s is not None and 0 < row.ttft_s <= (row.total_s or 0) for row in rows)


def test_the_folder_is_whole_private_and_alone(replay: Replay, tmp_path: Path) -> None:
    replay(ReplayVllm())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["before", "before.jsonl"]
    names = sorted(path.name for path in (tmp_path / "before").iterdir())
    assert names == ["evidence.html", "manifest.json", "requests.parquet", "run.json"]
    assert stat.S_IMODE((tmp_path / "before").stat().st_mode) == 0o700
    document = json.loads((tmp_path / "before" / "run.json").read_text())
    assert next(iter(document)) == "schema"
    assert document["schema"] == "keepwarm.replay/1"
    digest = hashlib.sha256((tmp_path / "before.jsonl").read_bytes()).hexdigest()
    assert document["input"]["sha256"] == digest


def test_what_is_sent_is_what_was_recorded_but_greedy_and_streamed(replay: Replay) -> None:
    fake = ReplayVllm()
    line = chat(0, RULES, tools=[TOOL], tool_choice="auto", n=2, cache_salt="x", top_p=0.3, max_tokens=50)
    replay(fake, [line], max_tokens=5, seed=7)
    (body,) = fake.bodies
    assert body["messages"] == line["body"]["messages"]
    assert (body["tools"], body["tool_choice"], body["cache_salt"]) == ([TOOL], "auto", "x")
    assert (body["temperature"], body["seed"], body["max_tokens"], body["model"]) == (0, 7, 5, "tiny")
    assert (body["stream"], body["stream_options"]) == (True, {"include_usage": True})
    assert not {"n", "top_p"} & body.keys()


def test_tools_without_a_parser_and_a_template_of_ones_own(replay: Replay, tmp_path: Path) -> None:
    fake, template = ReplayVllm(), tmp_path / "template.jinja"
    template.write_text("{{ messages }}")
    run = replay(fake, [chat(0, RULES, tools=[TOOL])], tool_choice="none", chat_template=template)
    assert fake.bodies[0]["tool_choice"] == "none"
    assert fake.bodies[0]["chat_template"] == "{{ messages }}"
    assert run.conditions.chat_template_sha256 == hashlib.sha256(template.read_bytes()).hexdigest()


def test_completions_as_text_and_as_ids(replay: Replay, tmp_path: Path) -> None:
    fake = ReplayVllm()
    ids = list(range(20))
    lines = [
        {"id": "text", "body": {"model": "m", "prompt": RULES, "max_tokens": 2}},
        {"id": "ids", "body": {"model": "m", "prompt": ids, "max_tokens": 2}},
        {"id": "again", "body": {"model": "m", "prompt": ids}, "usage": {"completion_tokens": 4}},
    ]
    replay(fake, lines)
    assert [body["prompt"] for body in fake.bodies] == [RULES, ids, ids]
    assert [body["max_tokens"] for body in fake.bodies] == [2, 2, 4]
    rows = read_run(tmp_path / "before").rows
    assert [(row.api, row.prompt_tokens, row.cached_tokens) for row in rows] == [
        ("completion", 40, 0),
        ("completion", 20, 0),
        ("completion", 20, 16),
    ]


def test_texts_are_kept_by_digest_alone_unless_asked_for(replay: Replay, tmp_path: Path) -> None:
    replay(ReplayVllm(), label="one")
    replay(ReplayVllm(), label="two", keep_text=True)
    bare, kept = read_run(tmp_path / "one").rows, read_run(tmp_path / "two").rows
    assert {row.text for row in bare} == {None}
    assert all(row.text for row in kept)
    assert [row.text_sha256 for row in bare] == [
        hashlib.sha256((row.text or "").encode()).hexdigest() for row in kept
    ]


def test_a_cache_that_cannot_be_emptied_is_refused_and_nothing_is_left(
    replay: Replay, tmp_path: Path
) -> None:
    for fake, message in (
        (ReplayVllm(has_reset=False), "VLLM_SERVER_DEV_MODE=1"),
        (ReplayVllm(refuses_reset=True), "blocks are in use"),
    ):
        with pytest.raises(ServerError, match=message):
            replay(fake)
        assert fake.bodies == []
    assert [path.name for path in tmp_path.iterdir()] == ["before.jsonl"]


@pytest.mark.parametrize("options", [{}, {"concurrency": 1}])
def test_a_reset_that_did_not_happen_is_found(
    replay: Replay, tmp_path: Path, options: dict[str, Any]
) -> None:
    fake = ReplayVllm()
    replay(fake, repaired(), "first")
    fake.lies_about_reset = True
    with pytest.raises(ServerError, match=r"the first request hit \d+ tokens"):
        replay(fake, repaired(), "second", **options)
    assert not list(tmp_path.glob("second*journal*"))
    assert not (tmp_path / "second").exists()
    run = replay(fake, repaired(), "second", reset=False, **options)
    assert run.reset.state == "skipped"
    assert run.reset.first_wave_least_cached_tokens


def test_counters_alone_show_a_cache_that_was_not_empty(replay: Replay) -> None:
    with pytest.raises(ServerError, match="hit 8 tokens by its counters"):
        replay(ReplayVllm(other_hits=8))


def test_requests_that_fail_are_rows(replay: Replay, tmp_path: Path) -> None:
    def late(body: dict[str, Any]) -> httpx2.Response:
        raise httpx2.ReadTimeout("no token came")

    torn = httpx2.Response(200, text='data: {"choices": [{"delta": {"content": "a"}}]}\n\n')
    fake = ReplayVllm(broken={1: lambda _: ERROR, 3: late, 5: lambda _: torn})
    run = replay(fake)
    failed = {row.id: row.error for row in read_run(tmp_path / "before").rows if row.status == "failed"}
    assert failed == {
        "r1": "HTTP 500: engine dead",
        "r3": "ReadTimeout: no token came",
        "r5": "the stream ended before its last chunk",
    }
    assert (run.requests.ok, run.requests.failed) == (9, 3)
    assert sum(failure.requests for failure in run.failures) == 3


def test_a_server_that_dies_in_mid_stream(replay: Replay, tmp_path: Path) -> None:
    text = 'data: {"choices": [{"delta": {"content": "a"}}]}\n\n'
    dying = httpx2.Response(200, text=text, headers={"x-promised": "999"})
    with served(ReplayVllm(broken={2: lambda _: dying})) as url:
        run = replay(ReplayVllm(), url=url, over="network")
    (row,) = [row for row in read_run(tmp_path / "before").rows if row.status == "failed"]
    assert row.id == "r2"
    assert "RemoteProtocolError" in (row.error or "")
    assert run.requests.ok == 11


def test_five_failures_in_a_row_end_the_run_which_then_begins_again(replay: Replay, tmp_path: Path) -> None:
    fake = ReplayVllm(broken=dict.fromkeys(range(3, 8), lambda _: ERROR))
    with pytest.raises(ServerError, match=r"5 requests in a row failed.*--resume"):
        replay(fake)
    assert not (tmp_path / "before").exists()
    with pytest.raises(InputError, match="add --resume"):
        replay(fake)
    fake.broken.clear()
    run = replay(fake, resume=True)
    assert (run.requests.ok, run.resumed.restarts, run.resumed.kept_requests) == (12, 1, 0)
    assert fake.resets == 2
    assert run.hit_rate == 0


def test_a_prompt_beyond_the_servers_limit_is_not_sent(replay: Replay, tmp_path: Path) -> None:
    fake = ReplayVllm(max_model_len=60)
    run = replay(fake, [chat(0, RULES), chat(1, f"{RULES} {RULES}"), chat(2, RULES, max_tokens=500)])
    rows = read_run(tmp_path / "before").rows
    assert [row.status for row in rows] == ["ok", "not-sent", "ok"]
    assert rows[1].error == "85 tokens, but the server's max_model_len is 60"
    assert [body["max_tokens"] for body in fake.bodies] == [3, 15]
    assert (run.requests.not_sent, run.failures[0].requests) == (1, 1)


def test_nothing_that_fits_is_an_error(replay: Replay) -> None:
    with pytest.raises(InputError, match=r"no request of .* fits the server; the first: 45 tokens"):
        replay(ReplayVllm(max_model_len=20), [chat(0, RULES)])


def test_a_request_that_the_server_cannot_render_is_not_sent(replay: Replay, tmp_path: Path) -> None:
    fake = ReplayVllm()
    fake.answers["/tokenize"] = lambda body: (
        httpx2.Response(400, text="bad roles")
        if "question 1" in json.dumps(body)
        else ReplayVllm._tokenize(fake, body)
    )
    replay(fake, repaired(2))
    assert [row.error for row in read_run(tmp_path / "before").rows] == [
        None,
        "the server cannot tokenise it: HTTP 400: bad roles",
    ]


def test_contradictions_are_said(replay: Replay) -> None:
    (sentence,) = replay(ReplayVllm(miscounts=10)).inconsistencies
    assert "prompt tokens, the server's counters" in sentence
    fake = ReplayVllm()
    fake.answers["/tokenize"] = lambda body: httpx2.Response(200, json={"tokens": [1, 2, 3]})
    (sentence,) = replay(fake, label="other").inconsistencies
    assert sentence.startswith("12 requests had another prompt length than /tokenize told")


def test_usage_without_cached_tokens_is_refused(replay: Replay) -> None:
    with pytest.raises(ServerError, match="--enable-prompt-tokens-details"):
        replay(ReplayVllm(tells_details=False))


def test_several_at_once_and_no_more(replay: Replay, tmp_path: Path) -> None:
    under_way, most, lock = 0, 0, threading.Lock()
    together = threading.Barrier(3, timeout=20)

    class Slow(ReplayVllm):
        def handle(self, request: httpx2.Request) -> httpx2.Response:
            nonlocal under_way, most
            if request.url.path != "/v1/chat/completions":
                return super().handle(request)
            with lock:
                under_way += 1
                most = max(most, under_way)
            together.wait()
            answer = super().handle(request)
            with lock:
                under_way -= 1
            return answer

    run = replay(Slow(), concurrency=3)
    assert (most, run.conditions.mode, run.conditions.concurrency, run.requests.ok) == (
        3,
        "concurrent",
        3,
        12,
    )
    assert [row.index for row in read_run(tmp_path / "before").rows] == list(range(12))


def test_recorded_timing_is_kept(replay: Replay, tmp_path: Path) -> None:
    lines = repaired()
    lines[0], lines[5] = lines[5], lines[0]  # the file is not in order of time
    run = replay(ReplayVllm(), lines, recorded_timing=True)
    rows = read_run(tmp_path / "before").rows
    assert run.conditions.mode == "recorded"
    by_id = {row.id: row for row in rows}
    for number in range(12):
        row = by_id[f"r{number}"]
        assert row.due_s == pytest.approx(number * 0.02)
        assert (row.sent_s or 0) >= number * 0.02 - 1e-6


def test_timing_needs_times(replay: Replay) -> None:
    line = chat(0, RULES)
    del line["timestamp"]
    with pytest.raises(InputError, match="line 1 has no time"):
        replay(ReplayVllm(), [line], recorded_timing=True)


def test_block_ids_cannot_be_sent(replay: Replay) -> None:
    hashed = {"timestamp": 1, "input_length": 1024, "output_length": 3, "hash_ids": [1, 2]}
    with pytest.raises(InputError, match="holds block ids and no prompts"):
        replay(ReplayVllm(), [hashed])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"concurrency": 2, "recorded_timing": True}, "two modes"),
        ({"concurrency": 0}, "--concurrency 0"),
        ({"limit": 0}, "--limit 0"),
        ({"max_tokens": -1}, "--max-tokens -1"),
        ({"timeout_s": float("nan")}, "positive number of seconds"),
        ({"seed": 2**70}, "64 bits"),
        ({"model": "other"}, "does not serve 'other'"),
    ],
)
def test_wrong_options(replay: Replay, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        replay(ReplayVllm(), **options)


def test_a_label_is_a_short_name(replay: Replay) -> None:
    with pytest.raises(InputError, match="no short name"):
        replay(ReplayVllm(), label="be fore")


class Interrupting(ReplayVllm):
    """Sends SIGINT to the test while it answers request ``at``."""

    at: int = 4

    def _completions(self, body: dict[str, Any]) -> httpx2.Response:
        if len(self.bodies) == self.at:
            self.at = -1
            os.kill(os.getpid(), signal.SIGINT)
        return super()._completions(body)


def test_an_interrupted_run_goes_on_where_the_cache_is_as_it_was(replay: Replay, tmp_path: Path) -> None:
    fake = Interrupting()
    with pytest.raises(RunInterrupted, match=r"after 5 requests.*--resume goes on"):
        replay(fake, repaired())
    assert not (tmp_path / "before").exists()
    run = replay(fake, repaired(), resume=True)
    assert (run.resumed.interruptions, run.resumed.kept_requests, run.resumed.restarts) == (1, 5, 0)
    assert (fake.resets, len(fake.bodies), run.requests.ok) == (1, 12, 12)
    whole = replay(ReplayVllm(), repaired(), "whole")
    assert (run.tokens, run.counters) == (whole.tokens, whole.counters)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_it_begins_again_if_somebody_used_the_server(replay: Replay) -> None:
    fake = Interrupting()
    with pytest.raises(RunInterrupted):
        replay(fake, repaired())
    fake.query_tokens += 100
    run = replay(fake, repaired(), resume=True)
    assert (run.resumed.kept_requests, run.resumed.restarts, fake.resets) == (0, 1, 2)
    assert (len(fake.bodies), run.requests.ok, run.inconsistencies) == (17, 12, ())


def test_what_was_sent_side_by_side_begins_again(replay: Replay) -> None:
    fake = Interrupting()
    with pytest.raises(RunInterrupted, match="begins again with a reset"):
        replay(fake, repaired(), concurrency=2)
    assert replay(fake, repaired(), concurrency=2, resume=True).resumed.restarts == 1


@pytest.mark.parametrize("options", [{}, {"concurrency": 2}])
def test_a_folder_that_could_not_be_made_is_made_later_without_sending_anything(
    replay: Replay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    def full(*_: object) -> str:
        raise InputError("no space left on device")

    fake = ReplayVllm()
    with monkeypatch.context() as patched:
        patched.setattr(run_module, "keep_run", full)
        with pytest.raises(InputError, match="no space left"):
            replay(fake, repaired(), **options)
    run = replay(fake, repaired(), resume=True, **options)
    assert (len(fake.bodies), fake.resets, run.requests.ok, run.resumed.kept_requests) == (12, 1, 12, 12)


def test_only_the_same_run_is_resumed(replay: Replay, tmp_path: Path) -> None:
    fake = Interrupting()
    with pytest.raises(RunInterrupted):
        replay(fake, repaired())
    with pytest.raises(InputError, match="the requests changed since"):
        replay(fake, repaired(11), resume=True)
    with pytest.raises(InputError, match="how they are sent changed since"):
        replay(fake, repaired(), resume=True, reset=False)
    fake.version = "0.33.0"
    with pytest.raises(InputError, match="the server changed since"):
        replay(fake, repaired(), resume=True)
    with pytest.raises(InputError, match="no interrupted run"):
        replay(fake, label="other", resume=True)
    (tmp_path / "before.journal.jsonl").write_text("{}\n")
    with pytest.raises(InputError, match="no journal of a replay"):
        replay(fake, repaired(), resume=True)


def test_a_torn_journal_begins_again(replay: Replay, tmp_path: Path) -> None:
    fake = Interrupting()
    with pytest.raises(RunInterrupted):
        replay(fake, repaired())
    journal = tmp_path / "before.journal.jsonl"
    journal.write_bytes(journal.read_bytes()[:-5])
    assert replay(fake, repaired(), resume=True).resumed.restarts == 1


def test_a_place_that_is_taken_is_refused_before_anything_is_sent(replay: Replay, tmp_path: Path) -> None:
    fake = ReplayVllm()
    (tmp_path / "before").mkdir()
    (tmp_path / "before" / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="holds files already"):
        replay(fake)
    assert fake.paths == []
