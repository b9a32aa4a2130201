"""``keepwarm watch --prometheus`` against answers of a Prometheus; a real one is asked in tests/deploy."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import httpx2
import pytest
from typer.testing import CliRunner

from keepwarm._errors import InputError, ServerError
from keepwarm._json import to_json
from keepwarm.cli.app import app
from keepwarm.watch.conditions import CONDITIONS
from keepwarm.watch.prometheus import Prometheus
from keepwarm.watch.report import MOST_SHOWN, render_watched
from keepwarm.watch.reuse import reuse_figures
from keepwarm.watch.servers import look, watch_document
from keepwarm.watch.window import window_seconds

TARGET = {"job": "vllm", "instance": "gpu-1:8000", "role": "canary"}
URL = "http://127.0.0.1:9090"


def vector(*values: tuple[Mapping[str, str], str]) -> dict[str, Any]:
    result = [{"metric": dict(labels), "value": [1.0, value]} for labels, value in values]
    return {"status": "success", "data": {"resultType": "vector", "result": result}}


def prometheus(answers: Callable[[str], dict[str, Any]]) -> Prometheus:
    def answer(request: httpx2.Request) -> httpx2.Response:
        expr = request.url.params["query"]
        if expr == "time()":
            return httpx2.Response(200, json={"status": "success", "data": {"result": [1.0, "1780000000"]}})
        return httpx2.Response(200, json=answers(expr))

    return Prometheus(URL, transport=httpx2.MockTransport(answer))


def healthy(expr: str) -> dict[str, Any]:
    if expr in {condition.expr for condition in CONDITIONS}:
        return vector()
    if "computecache_effective_mode" in expr:
        return vector(({**TARGET, "mode": "active"}, "1"))
    if "keepwarm_" in expr and "computecache" not in expr:
        return vector()
    if expr.startswith("group"):
        return vector((TARGET, "1"))
    if "prefix_cache_hits" in expr:
        return vector((TARGET, "0.75"))
    return vector((TARGET, "NaN" if "kv_block_reuse" in expr else "2"))


def test_a_server_in_figures() -> None:
    with prometheus(healthy) as asked:
        watched = look(asked, "5m")
    (server,) = watched.servers
    assert (server.instance, server.role, server.hit_rate) == ("gpu-1:8000", "canary", 0.75)
    assert server.modes == ("active",)
    assert server.paused_sessions is None
    assert server.reuse_gap_p50_s is None
    assert watched.held == []
    document = watch_document(watched)
    assert document["schema"] == "keepwarm.watch/1"
    assert document["servers"][0]["predicted_reuse_p50_s"] is None
    assert "no server exports it" in document["missing"][0]
    assert to_json(document) == to_json(watch_document(watched))
    text = render_watched(watched, width=100, colour=False)
    assert "75.0% of 2/s prompt tokens" in text
    assert "none holds" in text
    assert "time to reuse  " not in text
    assert "not known: predicted against real time to reuse: no server exports it" in text


def test_the_measured_gap_is_told_apart_from_sessions() -> None:
    def sampled(expr: str) -> dict[str, Any]:
        return vector((TARGET, "42.5")) if "kv_block_reuse" in expr else healthy(expr)

    with prometheus(sampled) as asked:
        text = render_watched(look(asked, "5m"), width=100, colour=False)
    assert "gap between uses" in text
    assert "median 42.5 s of the blocks that vLLM samples" in text


REUSE = {
    "predicted_reuse_p50_s": "8",
    "real_reuse_p50_s": "9",
    "reuse_ratio_p50": "1.25",
    "reuse_predicted_by_real": "0.8",
    "reuse_within_2x_share": "0.625",
    "reuse_early_share": "0.25",
    "reuse_late_share": "0.125",
    "reuse_never_share": "0.0625",
    "reuse_predicted_share": "0.9",
    "reuse_meanwhile_share": "0.5",
}


def test_predicted_against_real() -> None:
    by_expr = {expr: REUSE[name] for name, expr in reuse_figures("5m").items()}
    assert len(by_expr) == len(REUSE)

    def predicting(expr: str) -> dict[str, Any]:
        return vector((TARGET, by_expr[expr])) if expr in by_expr else healthy(expr)

    with prometheus(predicting) as asked:
        watched = look(asked, "5m")
    (server,) = watch_document(watched)["servers"]
    assert {name: server[name] for name in REUSE} == {name: float(value) for name, value in REUSE.items()}
    assert watched.missing == ()
    text = " ".join(render_watched(watched, width=120, colour=False).split())
    assert "predicted 8.0 s, real 9.0 s, real by predicted 1.25: medians" in text
    assert "62.5% within a factor of two; predicted by real 0.80 in the sum" in text
    assert "25.0% early, 12.5% late (25% each if right), 6.2% never met" in text
    assert "90.0% with a prediction, 50.0% of these while idle" in text
    assert "not known" not in text


def test_a_server_that_predicts_nothing_says_what_it_takes() -> None:
    unpredicted = reuse_figures("5m")["reuse_predicted_share"]

    def silent(expr: str) -> dict[str, Any]:
        if expr == unpredicted:
            return vector((TARGET, "0"))
        if expr in reuse_figures("5m").values():
            return vector((TARGET, "NaN"))
        return vector(({}, "1")) if expr.startswith("group (keepwarm_reuse") else healthy(expr)

    with prometheus(silent) as asked:
        watched = look(asked, "5m")
    assert "it takes a model" in watched.missing[0]
    text = " ".join(render_watched(watched, width=120, colour=False).split())
    assert "0.0% with a prediction, - of these while idle" in text


@pytest.mark.parametrize("condition", CONDITIONS, ids=lambda condition: str(condition.alert))
def test_a_condition_that_holds_is_said_with_its_reason(condition: Any) -> None:
    labels = {**TARGET, "call_site": "site-1\x1b[31m", "origin": "simulated", "mode": "active"}

    def one_holds(expr: str) -> dict[str, Any]:
        return vector((labels, "0.4")) if expr == condition.expr else healthy(expr)

    with prometheus(one_holds) as asked:
        watched = look(asked, "5m")
    (held,) = watched.held
    assert (held.alert, held.value) == (condition.alert, 0.4)
    assert held.runbook == f"docs/how-to/watch.md#{condition.alert.lower()}"
    text = render_watched(watched, width=100, colour=False)
    assert condition.alert in text
    assert "\x1b" not in text


def test_without_a_vllm_server_it_says_what_to_do() -> None:
    with prometheus(lambda expr: vector()) as asked, pytest.raises(ServerError) as raised:
        look(asked, "5m")
    assert "has no vllm:prefix_cache_queries_total; let it scrape /metrics" in str(raised.value)


@pytest.mark.parametrize(
    ("response", "said"),
    [
        (httpx2.Response(404, text="<html>no</html>"), "status 404 and nothing that a Prometheus says"),
        (httpx2.Response(200, json=[1]), "nothing that a Prometheus says"),
        (
            httpx2.Response(200, json={"status": "success", "data": {"result": 3}}),
            "nothing that a Prometheus",
        ),
        (httpx2.Response(400, json={"status": "error", "error": "parse\x1b[1m"}), "refused a query: parse;"),
    ],
)
def test_an_answer_that_is_none_is_one_line(response: httpx2.Response, said: str) -> None:
    asked = Prometheus(URL, transport=httpx2.MockTransport(lambda _: response))
    with asked, pytest.raises(ServerError) as raised:
        look(asked, "5m")
    assert said in str(raised.value)


@pytest.mark.parametrize(
    "metric",
    [{"job": 1}, {"job": None}, {"job": {"a": "b"}}, [1, 2], "text", None],
    ids=json.dumps,
)
def test_labels_that_are_none_are_one_line(metric: Any) -> None:
    answer = {"status": "success", "data": {"result": [{"metric": metric, "value": [1, "1"]}]}}
    with prometheus(lambda expr: answer) as asked, pytest.raises(ServerError, match="nothing that a Prom"):
        look(asked, "5m")


@pytest.mark.parametrize("now", ["NaN", "1e300", "-1", "soon", None, []])
def test_a_clock_that_is_none_is_one_line(now: Any) -> None:
    answer = httpx2.Response(200, json={"status": "success", "data": {"result": [1.0, now]}})
    asked = Prometheus(URL, transport=httpx2.MockTransport(lambda _: answer))
    with asked, pytest.raises(ServerError, match="nothing that a Prometheus says"):
        look(asked, "5m")


def test_an_answer_without_an_end_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keepwarm.watch.prometheus.MOST_BYTES", 1 << 20)
    read = []

    def endless() -> Iterator[bytes]:
        while len(read) < 100:
            read.append(1)
            yield b" " * (1 << 18)

    asked = Prometheus(URL, transport=httpx2.MockTransport(lambda _: httpx2.Response(200, content=endless())))
    with asked, pytest.raises(ServerError, match="answers with more than 1 MiB"):
        look(asked, "5m")
    assert len(read) <= 6


def test_a_thousand_servers_are_all_in_the_document_and_some_on_the_screen() -> None:
    targets = [({**TARGET, "instance": f"gpu-{number}"}, "1") for number in range(1_000)]
    with prometheus(lambda expr: vector(*targets)) as asked:
        watched = look(asked, "5m")
    assert len(watch_document(watched)["servers"]) == 1_000
    text = render_watched(watched, width=100, colour=False)
    assert "and 950 more servers; --once --json has all" in text
    assert f"and {1_000 * len(CONDITIONS) - MOST_SHOWN:,} more conditions" in text
    assert text.count("hit rate ") == MOST_SHOWN


def test_who_answered_once_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with prometheus(healthy) as asked:
        seen = look(asked, "5m")
    answers: list[Any] = [seen, ServerError("no answer"), seen, KeyboardInterrupt()]

    def next_look(*_: Any) -> Any:
        answer = answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    monkeypatch.setattr("keepwarm.watch.servers.look", next_look)
    monkeypatch.setattr("time.sleep", lambda _: None)
    result = CliRunner().invoke(app, ["watch", "--prometheus", URL, "--interval", "7"])
    assert "no answer; looking again in 7 s" in result.stderr
    assert result.stdout.count("75.0% of 2/s prompt tokens") == 2
    answers[:] = [ServerError("no answer")]
    result = CliRunner().invoke(app, ["watch", "--prometheus", URL])
    assert (result.exit_code, result.stdout) == (2, "")


@pytest.mark.parametrize(
    "url",
    [
        *("127.0.0.1:9090", "ftp://host", "http://", "", "http://[::", "http://a:b"),
        *("http://a..b:9090", f"http://{64 * 'x'}.net:9090"),
    ],
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(InputError, match="is no address"):
        Prometheus(url)


def test_a_password_in_the_address_is_in_no_message() -> None:
    def refuse(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("refused")

    asked = Prometheus("http://me:hunter2@127.0.0.1:9", transport=httpx2.MockTransport(refuse))
    with asked, pytest.raises(ServerError) as raised:
        look(asked, "5m")
    assert "hunter2" not in str(raised.value)
    assert "no answer from a Prometheus at http://127.0.0.1:9: refused" in str(raised.value)


@pytest.mark.parametrize(("text", "seconds"), [("30s", 30), ("5m", 300), ("1h", 3600), ("2d", 172800)])
def test_a_window_is_a_length_of_time(text: str, seconds: int) -> None:
    assert window_seconds(text) == seconds


@pytest.mark.parametrize("text", ["5", "m", "1s", "0m", "5M", "5m5s", "٥m", "5m]) or vector(1"])
def test_a_window_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--window"):
        window_seconds(text)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "nothing to watch"),
        (["--prometheus", URL, "--trace", "x.jsonl"], "or two things"),
        (["--prometheus", URL, "--json"], "use it with --prometheus and --once"),
        (["--prometheus", "nowhere", "--once"], "is no address"),
        (["--prometheus", "http://127.0.0.1:1", "--once"], "no answer from a Prometheus"),
        (["--prometheus", URL, "--window", "soon", "--once"], "--window"),
        (["--prometheus", URL, "--listen", "127.0.0.1:0"], "--listen goes with --trace only"),
        (["--prometheus", URL, "--reuse-model", "m.json"], "--reuse-model goes with --trace only"),
        (["--trace", "x.jsonl", "--window", "5m"], "--window goes with --prometheus only"),
        (
            ["--trace", __file__, "--listen", "1.2.3.4:80"],
            "requested address; name another --listen",
        ),
    ],
)
def test_a_wrong_call_is_one_line(arguments: list[str], said: str) -> None:
    result = CliRunner().invoke(app, ["watch", *arguments])
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


def test_once_as_json_is_one_document(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keepwarm.watch.prometheus.Prometheus", lambda url: prometheus(healthy))
    result = CliRunner().invoke(app, ["watch", "--prometheus", URL, "--once", "--json"])
    assert result.exit_code == 0
    assert json.loads(result.stdout)["schema"] == "keepwarm.watch/1"
    shown = CliRunner().invoke(app, ["watch", "--prometheus", URL, "--once"])
    assert "gpu-1:8000, canary (vllm)" in shown.stdout
