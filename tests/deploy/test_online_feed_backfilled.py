"""The series of scripts/feed_series.py in a real Prometheus: rules, dashboard and command, over its API."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml

from keepwarm.canary.servers.process import reserved_port
from keepwarm.watch.prometheus import Prometheus
from keepwarm.watch.report import render_watched
from keepwarm.watch.servers import ServerNow, look
from scripts import feed_series
from tests.deploy.compose import DEPLOY
from tests.deploy.test_online_feed import ALERTS, PLANTED

BINARIES = Path(os.environ.get("KEEPWARM_TEST_PROMETHEUS", DEPLOY.parent / "build" / "prometheus" / "bin"))
PATIENCE_S = 120.0  # not a limit on speed: what a stuck test may take before it says what was missing
END_S = feed_series.EPOCH_S + feed_series.LENGTH_S - feed_series.STEP_S
PLANTED_S = feed_series.EPOCH_S + feed_series.PLANTED_S
HOUR_BEGINS_S = feed_series.EPOCH_S + feed_series.LENGTH_S - feed_series.HOUR_S


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Prometheus that holds all scenarios, each as a job; ended by its own process id."""
    for name in ("prometheus", "promtool"):
        if not (BINARIES / name).exists():
            pytest.fail(f"no {name} in {str(BINARIES)!r}; `make test` fetches it")
    folder = tmp_path_factory.mktemp("backfilled")
    with (folder / "series.txt").open("w") as file:
        for scenario in feed_series.SCENARIOS:
            file.writelines(feed_series.openmetrics(scenario))
        file.write("# EOF\n")
    command = [BINARIES / "promtool", "tsdb", "create-blocks-from", "openmetrics", "--quiet"]
    done = subprocess.run(
        [*command, folder / "series.txt", folder / "data"], capture_output=True, text=True, cwd=folder
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (folder / "prometheus.yml").write_text("global: {}\n")
    held = reserved_port()
    port = held.getsockname()[1]
    command = [BINARIES / "prometheus", f"--config.file={folder / 'prometheus.yml'}"]
    command += [f"--storage.tsdb.path={folder / 'data'}", "--storage.tsdb.retention.time=100y"]
    with (folder / "prometheus.log").open("wb") as log:
        process = subprocess.Popen(
            [*command, f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log, cwd=folder
        )
    try:
        address = f"http://127.0.0.1:{port}"
        wait_until_ready(address, process, folder / "prometheus.log")
        yield address
    finally:
        process.terminate()
        process.wait(30)
        held.close()


def wait_until_ready(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        with contextlib.suppress(httpx2.HTTPError):
            if httpx2.get(f"{address}/-/ready", timeout=10).status_code == 200:
                return
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.1)


def over_time(url: str, expr: str, start_s: int, end_s: int) -> list[dict[str, Any]]:
    parameters = {"query": expr, "start": start_s, "end": end_s, "step": feed_series.STEP_S}
    answer = httpx2.get(f"{url}/api/v1/query_range", params=parameters, timeout=60).json()
    assert answer["status"] == "success", answer
    result = answer["data"]["result"]
    assert isinstance(result, list)
    return result


def fired(url: str, alert: str, start_s: int, end_s: int) -> set[tuple[str, str]]:
    """Job and instance of what held without a break for as long as the rule waits."""
    rule = ALERTS[alert]
    number, unit = re.fullmatch(r"(\d+)([sm])", rule["for"]).groups()  # type: ignore[union-attr]
    needed = math.ceil(int(number) * {"s": 1, "m": 60}[unit] / feed_series.STEP_S)
    found = set()
    for one in over_time(url, rule["expr"], start_s, end_s):
        run, before = 0, -math.inf
        for at_s, _ in one["values"]:
            run = run + 1 if at_s - before == feed_series.STEP_S else 0
            before = at_s
            if run >= needed:
                found.add((one["metric"]["job"], one["metric"]["instance"]))
    return found


@pytest.mark.parametrize("alert", ALERTS)
def test_an_alert_is_quiet_until_something_breaks_and_fires_then(url: str, alert: str) -> None:
    assert fired(url, alert, HOUR_BEGINS_S, PLANTED_S - feed_series.STEP_S) == set()
    expected = {(job, one) for job, alerts in PLANTED.items() for one in alerts.get(alert, ())}
    assert fired(url, alert, PLANTED_S, END_S) == expected
    assert expected


def test_the_dashboard_of_call_sites_returns_data(url: str) -> None:
    board = json.loads((DEPLOY / "grafana" / "dashboards" / "callsites.json").read_text())
    queries = [target["expr"] for panel in board["panels"] for target in panel.get("targets", ())]
    assert len(queries) >= 4
    for query in queries:
        expr = query.replace("$__rate_interval", "1m")
        assert "$" not in expr
        result = over_time(url, expr, HOUR_BEGINS_S, END_S)
        assert {one["metric"]["call_site"] for one in result} == {site.name for site in feed_series.SITES}
        assert all(math.isfinite(float(value)) for one in result for _, value in one["values"])


def test_the_dashboard_of_cachewise_shows_predictions(url: str) -> None:
    board = json.loads((DEPLOY / "grafana" / "dashboards" / "cachewise.json").read_text())
    queries = {
        query: panel["title"]
        for panel in board["panels"]
        for target in panel.get("targets", ())
        if "keepwarm_reuse_" in (query := target["expr"])
    }
    assert len(queries) >= 8
    for query, title in queries.items():
        # Of the healthy server alone, minutes after its restart in the hour.
        expr = query.replace("$__rate_interval", "5m").replace("[5m]", '{job="healthy"}[5m]')
        expr = re.sub(r"\}\{job=", ",job=", expr)
        assert "$" not in expr
        result = over_time(url, expr, END_S - 600, END_S)
        values = [float(value) for one in result for _, value in one["values"]]
        assert values, title
        assert all(math.isfinite(value) for value in values), title


def test_the_command_says_what_holds_and_why(url: str) -> None:
    with Prometheus(url) as prometheus:
        watched = look(prometheus, "5m", END_S)
    assert {(one.job, one.instance) for one in watched.servers} == {
        (job, one) for job in feed_series.SCENARIOS for one in ("a", "b")
    }
    assert {(held.alert, held.labels["job"], held.labels["instance"]) for held in watched.held} == {
        (alert, job, one)
        for job, alerts in PLANTED.items()
        for alert, those in alerts.items()
        for one in those
    }
    by_place = {(one.job, one.instance): one for one in watched.servers}
    healthy, fallen = by_place["healthy", "a"], by_place["fell_back", "b"]
    assert healthy.hit_rate is not None
    assert 0.5 < healthy.hit_rate < 0.9
    assert (healthy.modes, healthy.tripped) == (("active",), 0)
    assert (fallen.modes, fallen.tripped) == (("lru",), 1)
    assert by_place["healthy", "b"].paused_sessions is not None
    assert_predictions(by_place["healthy", "b"], by_place["mispredicted", "b"])
    assert healthy.reuse_late_share is None
    assert healthy.paused_sessions is None
    text = " ".join(render_watched(watched, width=100, colour=False).split())
    assert "was its prompt deployed anew?" in text
    assert "do tools take another time" in text
    assert "late (25% each if right)" in text


def assert_predictions(healthy: ServerNow, mispredicted: ServerNow) -> None:
    """The figures of a model that is right but for noise, and of one whose tools became four times slower."""
    assert healthy.reuse_late_share is not None
    assert healthy.reuse_early_share is not None
    assert healthy.reuse_within_2x_share is not None
    assert healthy.reuse_ratio_p50 is not None
    assert mispredicted.reuse_late_share is not None
    assert mispredicted.reuse_ratio_p50 is not None
    assert mispredicted.reuse_predicted_by_real is not None
    assert max(healthy.reuse_early_share, healthy.reuse_late_share) < 0.4
    assert healthy.reuse_within_2x_share > 0.4
    assert 0.5 < healthy.reuse_ratio_p50 < 1.5
    assert mispredicted.reuse_late_share > 0.5
    assert mispredicted.reuse_ratio_p50 > 2
    assert mispredicted.reuse_predicted_by_real < 0.5
    for share in (healthy.reuse_never_share, healthy.reuse_predicted_share, healthy.reuse_meanwhile_share):
        assert share is not None
        assert 0 < share < 1


def test_the_config_that_ships_loads_both_files_of_rules() -> None:
    config = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())
    assert config["rule_files"] == ["alerts.yml", "online_feed.yml"]
