"""The rules of the online feed: by hand-made cases, and over an hour of traffic with planted regressions."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from keepwarm.watch.conditions import CONDITIONS, RUNBOOK
from scripts import feed_series
from tests.deploy.compose import DEPLOY
from tests.deploy.mutants import is_noticed

REPOSITORY = DEPLOY.parent
RULES = DEPLOY / "prometheus" / "online_feed.yml"
CASES = Path(__file__).with_name("online_feed_test.yml")
ALERTS: dict[str, dict[str, Any]] = {
    rule["alert"]: rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]
}
# Scenario to the alerts that must fire at its end, with the instances that they fire for; no other may.
PLANTED: dict[str, dict[str, list[str]]] = {
    "healthy": {},
    "thrash": {"CacheThrash": ["a", "b"], "HitRateDropped": ["a", "b"]},
    "prefix": {"CallSitePrefixBroke": ["feed"], "HitRateDropped": ["a", "b"]},
    "fell_back": {"PolicyFellBack": ["a", "b"], "PolicyNotAsWanted": ["a", "b"]},
    "mispredicted": {"ReusePredictionsOff": ["b"]},
}
ASKED = set(re.findall(r"(?:vllm:|computecache_|keepwarm_)\w+|\bup\b", RULES.read_text()))


@pytest.fixture(scope="module")
def promtool() -> Path:
    binaries = os.environ.get("KEEPWARM_TEST_PROMETHEUS", REPOSITORY / "build" / "prometheus" / "bin")
    tool = Path(binaries) / "promtool"
    if not tool.exists():
        pytest.fail(f"no promtool at {str(tool)!r}; `make test` fetches it")
    return tool


@pytest.mark.parametrize(
    "arguments",
    [("check", "rules", "--lint=all", "--lint-fatal", RULES), ("test", "rules", CASES)],
    ids=["rules", "cases"],
)
def test_promtool_has_nothing_to_say(promtool: Path, arguments: tuple[str | Path, ...]) -> None:
    done = subprocess.run([promtool, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ("[5m])) > 0.2", "[5m])) > 0.3"),
        ("[5m])) > 0.2", "[5m])) > 0.18"),
        ("waiting[5m])) >= 1", "waiting[5m])) >= 0"),
        ("> 0.1\n", "> 0.01\n"),
        ('origin="simulated", ', ""),
        ('direction="down"} >= 1', 'direction="up"} >= 1'),
        (") > 0.15", ") > 0.6"),
        ("> 100", "> 10"),
        ("(keepwarm_put_away > 0)", "(keepwarm_put_away > 2)"),
        ("keepwarm_scheduling > 0", "keepwarm_scheduling >= 0"),
        ("computecache_effective_mode > 0", "computecache_effective_mode >= 0"),
        ("for: 30s", "for: 5m"),
        ("> 0.35\n", "> 0.6\n"),
        ("> 0.35\n", "> 0.05\n"),
        ("abs(", "("),
        ('late"}[15m])) >= 100', 'late"}[15m])) >= 1'),
        ('late"}[1h] offset 20m)) >= 100', 'late"}[1h] offset 20m)) >= 1'),
        ('{outcome=~"early|middle|late"}[15m]))\n            )', "[15m]))\n            )"),
    ],
)
def test_the_cases_notice_a_rule_that_is_wrong(promtool: Path, tmp_path: Path, good: str, bad: str) -> None:
    assert is_noticed(promtool, tmp_path, RULES, CASES, good, bad)


def test_the_command_asks_what_the_rules_ask() -> None:
    asked = {condition.alert: condition.expr for condition in CONDITIONS}
    assert asked == {name: rule["expr"] for name, rule in ALERTS.items()}


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_says_how_bad_it_is_and_where_help_is(name: str) -> None:
    alert = ALERTS[name]
    assert alert["labels"]["severity"] in {"critical", "warning"}
    page, anchor = alert["annotations"]["runbook"].split("#")
    assert (page, anchor) == (RUNBOOK, name.lower())
    section = (REPOSITORY / page).read_text().split("\n## Alerts of the online feed\n")[1].split("\n## ")[0]
    assert name in re.findall(r"^### (\w+)$", section, re.MULTILINE)


@cache
def generated(scenario: str) -> dict[str, list[float | None]]:
    return feed_series.series(scenario)


@pytest.mark.parametrize("scenario", feed_series.SCENARIOS)
def test_an_hour_of_traffic(promtool: Path, tmp_path: Path, scenario: str) -> None:
    """Quiet in the hour, or up to the regression planted into it; what that breaks fires at the end."""
    case = {
        "rule_files": [str(RULES)],
        "evaluation_interval": f"{feed_series.STEP_S}s",
        "tests": [
            {
                "interval": f"{feed_series.STEP_S}s",
                "input_series": [
                    {"series": name, "values": " ".join("_" if v is None else f"{v:.9g}" for v in values)}
                    for name, values in generated(scenario).items()
                    if name.partition("{")[0] in ASKED
                ],
                "promql_expr_test": [
                    check for alert in ALERTS for check in checks(alert, PLANTED[scenario].get(alert, []))
                ],
            }
        ],
    }
    (tmp_path / "case.yml").write_text(yaml.safe_dump(case))
    done = subprocess.run([promtool, "test", "rules", tmp_path / "case.yml"], capture_output=True, text=True)
    assert done.returncode == 0, (done.stdout + done.stderr)[:3_000]


def checks(alert: str, instances: list[str]) -> Iterator[dict[str, Any]]:
    """No firing of ``alert`` at any evaluation of the hour before the regression, then for ``instances``."""
    end_s = feed_series.LENGTH_S - feed_series.STEP_S
    healthy_s = feed_series.PLANTED_S - (feed_series.LENGTH_S - feed_series.HOUR_S) if instances else 3_600
    firing = f'ALERTS{{alertname="{alert}", alertstate="firing"}}'
    yield {
        "expr": f"max_over_time({firing}[{healthy_s}s])",
        "eval_time": f"{feed_series.PLANTED_S - feed_series.STEP_S if instances else end_s}s",
        "exp_samples": [],
    }
    yield {
        "expr": f"max by (instance) ({firing})",
        "eval_time": f"{end_s}s",
        "exp_samples": [{"labels": f'{{instance="{one}"}}', "value": 1} for one in instances],
    }
