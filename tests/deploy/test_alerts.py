"""The alert rules, by Prometheus's own tool; what live servers say to them is in tests/vllm_server."""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.compose import DEPLOY
from tests.deploy.mutants import is_noticed

REPOSITORY = DEPLOY.parent
RULES = DEPLOY / "prometheus" / "alerts.yml"
CASES = Path(__file__).with_name("alerts_test.yml")
ALERTS: dict[str, dict[str, Any]] = {
    rule["alert"]: rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]
}


@pytest.fixture(scope="module")
def promtool() -> Path:
    binaries = os.environ.get("KEEPWARM_TEST_PROMETHEUS", REPOSITORY / "build" / "prometheus" / "bin")
    tool = Path(binaries) / "promtool"
    if not tool.exists():
        pytest.fail(f"no promtool at {str(tool)!r}; `make test` fetches it")
    return tool


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "rules", "--lint=all", "--lint-fatal", RULES),
        ("check", "config", DEPLOY / "prometheus" / "prometheus.yml"),
        ("test", "rules", CASES),
    ],
    ids=["rules", "config", "cases"],
)
def test_promtool_has_nothing_to_say(promtool: Path, arguments: tuple[str | Path, ...]) -> None:
    done = subprocess.run([promtool, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ("computecache_tripped > 0", "computecache_tripped > 1"),
        ('computecache_effective_mode{mode="active"} > 0', 'computecache_effective_mode{mode="active"} >= 0'),
        ('computecache_effective_mode{mode!="lru"}', 'computecache_effective_mode{mode="lru"}'),
        ("> 0.001", "> 0.005"),
        ("[10m])) > 0.2", "[10m])) > 0.3"),
        ("[1h]) == 1", "[1h]) >= 0"),
        ("- 0.02", "- 0.2"),
        (" - 0.02", ""),
        ("usage_perc) > 0.9", "usage_perc) > 0.8"),
        ("for: 15s", "for: 0s"),
    ],
)
def test_the_cases_notice_a_rule_that_is_wrong(promtool: Path, tmp_path: Path, good: str, bad: str) -> None:
    assert is_noticed(promtool, tmp_path, RULES, CASES, good, bad)


def test_every_alert_has_cases_in_which_it_fires_and_in_which_it_is_quiet() -> None:
    fires: Counter[str] = Counter()
    quiet: Counter[str] = Counter()
    for case in yaml.safe_load(CASES.read_text())["tests"]:
        for check in case["alert_rule_test"]:
            (fires if check.get("exp_alerts") else quiet)[check["alertname"]] += 1
    assert fires.keys() == ALERTS.keys()
    assert quiet.keys() == ALERTS.keys()


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_says_how_bad_it_is_and_where_help_is(name: str) -> None:
    alert = ALERTS[name]
    assert alert["labels"]["severity"] in {"critical", "warning"}
    assert re.fullmatch(r"[1-9]\d*[sm]", alert["for"])
    assert alert["annotations"]["summary"]
    page, anchor = alert["annotations"]["runbook"].split("#")
    headings = re.findall(r"^#+ `?(\w+)`?$", (REPOSITORY / page).read_text(), re.MULTILINE)
    assert anchor == name.lower()
    assert name in headings


def test_no_runbook_is_of_an_alert_that_is_gone() -> None:
    page = (REPOSITORY / "docs" / "how-to" / "watch.md").read_text()
    section = page.split("\n## Alerts\n")[1].split("\n## ")[0]
    assert re.findall(r"^### `?(\w+)`?$", section, re.MULTILINE) == list(ALERTS)
