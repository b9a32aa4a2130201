"""``keepwarm watch --prometheus`` against answers of a Prometheus; a real one is asked in tests/deploy."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import httpx2
import pytest
from typer.testing import CliRunner

from keepwarm._errors import InputError, ServerError
from keepwarm._json import to_json
from keepwarm.cli.app import app
from keepwarm.watch.conditions import CONDITIONS
from keepwarm.watch.prometheus import Prometheus
from keepwarm.watch.report import render_watched
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
    assert "no metric of the prediction" in document["missing"][0]
    assert to_json(document) == to_json(watch_document(watched))
    text = render_watched(watched, width=100, colour=False)
    assert "75.0% of 2/s prompt tokens" in text
    assert "none holds" in text
    assert "time to reuse  " not in text


def test_the_measured_gap_stands_beside_a_prediction_that_nobody_exports() -> None:
    def sampled(expr: str) -> dict[str, Any]:
        return vector((TARGET, "42.5")) if "kv_block_reuse" in expr else healthy(expr)

    with prometheus(sampled) as asked:
        text = render_watched(look(asked, "5m"), width=100, colour=False)
    assert "median 42.5 s of the blocks that vLLM samples; predicted -" in text


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


@pytest.mark.parametrize("url", ["127.0.0.1:9090", "ftp://host", "http://", "", "http://[::", "http://a:b"])
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
