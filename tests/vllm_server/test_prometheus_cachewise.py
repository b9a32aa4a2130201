"""CacheWise's dashboard, its alerts and `keepwarm watch`: a real Prometheus that scrapes a real server.

Sessions come back with a hint, without one, and not at all: what was predicted of each is counted.
"""

from __future__ import annotations

import itertools
import json
import math
import re
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import httpx2
import pytest
from typer.testing import CliRunner

from keepwarm.canary.servers.local import LocalServer
from keepwarm.cli.app import app
from keepwarm.hints import HintClient
from keepwarm.reuse.curves import Curve
from keepwarm.reuse.model import dumps
from keepwarm.reuse.predictor import Fitted, ReuseModel
from tests.vllm_server.test_prometheus import DEPLOY, PATIENCE_S, Prometheus, reaches, running_prometheus

TOKEN = "token-of-the-predictions-90c3"
CALL = {"id": "1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
MESSAGES: list[Any] = [
    {"role": "user", "content": "What is here?"},
    {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "1", "content": "README.md src tests"},
]
BOARD = DEPLOY / "grafana" / "dashboards" / "cachewise.json"


class Watched(NamedTuple):
    """A server that predicts, a Prometheus that scrapes it, and where hints are taken."""

    server: LocalServer
    prometheus: Prometheus
    control_url: str


@pytest.fixture(scope="module")
def watched(cpu_server: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    folder = tmp_path_factory.mktemp("predictions")
    curve = Curve((0.5, 5.0, 60.0), (0.6, 0.3, 0.1), end_s=120.0, beyond_s=60.0, samples=100)
    fitted = Fitted("test", "none", seed=0, clusters=0, samples=100, censored=0, sources=("test",))
    (folder / "model.json").write_bytes(dumps(ReuseModel(fitted, curve, {})))
    server = cpu_server(
        {
            "KEEPWARM_SCHEDULING": "active-set",
            "KEEPWARM_EVICTION": "cachewise",
            "KEEPWARM_REUSE_MODEL": str(folder / "model.json"),
            "KEEPWARM_CONTROL_PORT": "0",
            "KEEPWARM_CONTROL_TOKEN": TOKEN,
            "COMPUTECACHE_DECISION_BUDGET_US": "10000000",
        }
    )
    found = re.search(r"hints are taken at (http://127\.0\.0\.1:\d+)/", server.log_tail(2_000))
    assert found is not None, server.log_tail(200)
    with running_prometheus({"canary": server}, folder, "online_feed.yml") as prometheus:
        yield Watched(server, prometheus, found[1])


def chat(server: LocalServer, model: str, messages: list[Any], session: str) -> None:
    body = {"model": model, "messages": messages, "max_tokens": 2, "temperature": 0, "session_id": session}
    answer = httpx2.post(f"{server.base_url}/v1/chat/completions", json=body, timeout=60, trust_env=False)
    assert answer.status_code == 200, answer.text


def load(watched: Watched, model: str, number: int) -> None:
    """A session with a hint in time, one whose request tells its call, and one that is over."""
    names = [f"{kind} {number}" for kind in ("hinted", "told", "over")]
    for name in names:
        chat(watched.server, model, MESSAGES[:1], name)
    with HintClient(watched.control_url, TOKEN) as client:
        client.tool(names[0], "bash", '{"command": "ls"}')
        client.tool(names[2], "bash", '{"command": "ls"}')
    chat(watched.server, model, MESSAGES[:1], f"meanwhile {number}")  # an idle engine takes no hints
    with HintClient(watched.control_url, TOKEN) as client:
        client.finished(names[2])
    for name in names[:2]:
        chat(watched.server, model, MESSAGES, name)


@pytest.fixture(scope="module")
def unanswered(watched: Watched, served_model: str) -> dict[str, Any]:
    """Load the server until every query of the dashboard has returned data; those that never did."""
    waiting: dict[str, Any] = {}
    for panel in json.loads(BOARD.read_text())["panels"]:
        for target in panel.get("targets", ()):
            expr = target["expr"].replace("$__rate_interval", "20s")
            assert "$" not in expr
            waiting[expr] = panel["title"]
    rounds, deadline = itertools.count(), time.monotonic() + PATIENCE_S
    load(watched, served_model, next(rounds))
    while waiting and time.monotonic() < deadline:
        load(watched, served_model, next(rounds))
        for expr in list(waiting):
            values = watched.prometheus.samples(expr).get("canary", [])
            if any(math.isfinite(value) for value in values):
                del waiting[expr]
    return waiting


def test_every_query_of_the_dashboard_returns_data(unanswered: dict[str, Any]) -> None:
    assert unanswered == {}


def test_each_kind_of_session_is_counted_as_what_it_was(watched: Watched, unanswered: Any) -> None:
    def counted() -> bool:
        ended = watched.prometheus.samples("sum by (role) (keepwarm_reuse_predictions_total)")
        kinds = {
            (known, outcome): watched.prometheus.samples(
                f'sum by (role) (keepwarm_reuse_predictions_total{{known="{known}",outcome=~"{outcome}"}})'
            ).get("canary", [0.0])[0]
            for known in ("meanwhile", "afterwards")
            for outcome in ("early|middle|late", "finished")
        }
        return (
            ended.keys() == {"canary"}
            and kinds["meanwhile", "early|middle|late"] >= 2
            and kinds["meanwhile", "finished"] >= 2
            and kinds["afterwards", "early|middle|late"] >= 2
        )

    reaches(counted, True)
    faults = watched.prometheus.samples('{__name__=~"keepwarm_(eviction_)?faults_total"} > 0')
    assert faults == {}


def test_alerts_evaluate_and_are_quiet(watched: Watched, unanswered: Any) -> None:
    reaches(
        lambda: [rule.get("lastError") for rule in watched.prometheus.rules() if rule["health"] != "ok"], []
    )
    assert "ReusePredictionsOff" in {rule["name"] for rule in watched.prometheus.rules()}
    quiet = {"ReusePredictionsOff", "PolicyFellBack", "PolicyNotAsWanted", "CallSitePrefixBroke"}
    reaches(lambda: quiet & watched.prometheus.noticed(), set())


def test_the_command_shows_predicted_against_real(
    watched: Watched, unanswered: Any, served_model: str
) -> None:
    url, rounds = watched.prometheus.base_url, itertools.count(10_000)

    def shown() -> bool:
        load(watched, served_model, next(rounds))  # the window looks at the last seconds alone
        asked = ["watch", "--prometheus", url, "--window", "30s", "--once", "--json"]
        result = CliRunner().invoke(app, asked)
        assert result.exit_code == 0, result.output
        (server,) = json.loads(result.stdout)["servers"]
        return (
            server["modes"] == ["cachewise"]
            and server["scheduling"] == ["active-set"]
            and all(
                server[name] is not None
                for name in server
                if "reuse" in name and name != "reuse_gap_p50_s"  # vLLM's, with another flag
            )
        )

    reaches(shown, True)
    text = CliRunner().invoke(app, ["watch", "--prometheus", url, "--window", "1m", "--once"]).stdout
    assert "time to reuse" in text
    assert "never met" in text
