"""The pages on CacheWise inside vLLM say what the code says: settings, defaults, metrics, faults."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from keepwarm.vllm.hints.listener import MOST_PENDING
from keepwarm.vllm.hints.token import LEAST_TOKEN_CHARACTERS
from keepwarm.vllm.serving.counters import (
    HINT_OUTCOMES,
    PREDICTION_OUTCOMES,
    SCHEDULING_MODES,
    SERVING_FAULT_KINDS,
    UNPREDICTED_REASONS,
    shared_serving_counters,
)
from keepwarm.vllm.serving.exposition import CacheWiseCollector
from keepwarm.vllm.serving.identity import LONGEST_ID
from keepwarm.vllm.serving.predictions import AWAY_S, FORGIVEN_S, MOST_S, QUARTER
from keepwarm.vllm.serving.settings import (
    EVICTION,
    EVICTIONS,
    SCHEDULING,
    SCHEDULINGS,
    ServingSettings,
    is_serving_asked_for,
    pool_environ,
    read_serving_settings,
)
from keepwarm.vllm.settings import MODE
from tests.test_platform.test_vllm_docs import Asked, rows, running

DOCS = Path(__file__).resolve().parents[2] / "docs"
SETTINGS = (DOCS / "reference" / "settings.md").read_text()
METRICS = (DOCS / "reference" / "metrics.md").read_text()
HOW_TO = (DOCS / "how-to" / "serve-coding-agents.md").read_text()
DOCUMENTED = {
    name: (default, allowed)
    for name, default, allowed, _ in rows(
        SETTINGS, "| setting of CacheWise | default | allowed | what it is |"
    )
}
NUMBERS = ("KEEPWARM_SESSIONS", "KEEPWARM_FAULT_LIMIT")


def test_every_setting_is_documented_and_no_other() -> None:
    environ = Asked()
    read_serving_settings(environ)
    assert set(DOCUMENTED) == environ.names - {MODE}
    assert len(DOCUMENTED) == len(ServingSettings._fields)


def test_documented_choices_are_those_of_the_code() -> None:
    for name, choices in ((SCHEDULING, SCHEDULINGS), (EVICTION, EVICTIONS)):
        assert re.findall(r"[\w-]+", DOCUMENTED[name][1]) == list(choices)
        for choice in choices:
            assert read_serving_settings({name: f" {choice.upper()} "}).warnings == []
        settings, warnings = read_serving_settings({name: "other"})
        assert (settings.scheduling, settings.eviction) in {("fcfs", None), (None, "lru")}
        assert len(warnings) == 1
    assert tuple(SCHEDULINGS) == SCHEDULING_MODES


@pytest.mark.parametrize("name", NUMBERS)
def test_documented_ranges_and_defaults_are_those_of_the_code(name: str) -> None:
    default, allowed = DOCUMENTED[name]
    least, most = (int(bound) for bound in allowed.split(" to "))
    assert read_serving_settings({name: default}) == read_serving_settings({})
    for value in (least, most):
        assert read_serving_settings({name: str(value)}).warnings == []
    for text in (str(least - 1), str(most + 1), "many", "", "4.0", "9" * 5_000):
        settings, warnings = read_serving_settings({name: text})
        assert settings == ServingSettings()
        assert len(warnings) == 1
        assert name in warnings[0]


@pytest.mark.parametrize("text", ["65536", "-1", "many", "²", "9" * 5_000])
def test_a_port_that_is_none_means_no_endpoint(text: str) -> None:
    settings, warnings = read_serving_settings({"KEEPWARM_CONTROL_PORT": text})
    assert settings.control_port is None
    assert len(warnings) == 1


def test_unset_is_untouched() -> None:
    assert not is_serving_asked_for({"KEEPWARM_SESSIONS": "5", MODE: "active"})
    assert read_serving_settings({}) == (ServingSettings(), [])
    assert pool_environ({MODE: "active"}) == {MODE: "active"}
    assert pool_environ({}) == {}


@pytest.mark.parametrize("mode", ["lru", "", "LRU ", "other"])
@pytest.mark.parametrize("eviction", ["computecache", "cachewise"])
def test_an_explicit_lru_wins(mode: str, eviction: str) -> None:
    environ = {MODE: mode, EVICTION: eviction}
    settings, warnings = read_serving_settings(environ)
    assert settings.eviction == "lru"
    assert len(warnings) == 1
    assert pool_environ(environ)[MODE] == "lru"


def test_eviction_chooses_the_mode_of_the_pool() -> None:
    modes = {choice: pool_environ({EVICTION: choice})[MODE] for choice in EVICTIONS}
    assert modes == {"lru": "lru", "computecache": "active", "cachewise": "active"}


def test_the_token_is_in_no_log() -> None:
    settings = read_serving_settings({"KEEPWARM_CONTROL_TOKEN": "sixteen-and-more"}).settings
    assert settings.control_token == "sixteen-and-more"
    assert "sixteen" not in settings.line()


def test_the_start_up_line_shown_is_what_is_printed() -> None:
    (line,) = re.findall(r"^CacheWise: (.*), order in effect: active-set$", HOW_TO, re.MULTILINE)
    assert line == ServingSettings(scheduling="active-set", eviction="cachewise").line()


@pytest.fixture(scope="module")
def families(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What ``/metrics`` of a server with one engine has, by the name that is scraped."""
    folder = tmp_path_factory.mktemp("counters")
    engine = shared_serving_counters(folder)
    assert list(CacheWiseCollector(folder).collect()) == []
    engine.set("scheduling", 2)
    engine.publish()
    suffix = {"counter": "_total"}
    return {f"{one.name}{suffix.get(one.type, '')}": one for one in CacheWiseCollector(folder).collect()}


def test_every_metric_is_documented_and_no_other(families: dict[str, Any]) -> None:
    documented = {
        name: (kind, set(re.findall(r"\w+", label)))
        for name, kind, label, _ in rows(METRICS, "| metric of CacheWise | type | labels | value |")
    }
    scraped = {
        name: (family.type, {label for sample in family.samples for label in sample.labels} - {"le"})
        for name, family in families.items()
    }
    assert documented == scraped


def test_every_label_value_is_explained(families: dict[str, Any]) -> None:
    def values_of(name: str, label: str) -> list[str]:
        return [sample.labels[label] for sample in families[name].samples]

    kinds = [name for name, _ in rows(METRICS, "| `kind` of CacheWise | where it went wrong |")]
    assert kinds == list(SERVING_FAULT_KINDS) == values_of("keepwarm_faults_total", "kind")
    outcomes = [name for name, _ in rows(METRICS, "| `outcome` of a hint | what became of it |")]
    assert outcomes == list(HINT_OUTCOMES) == values_of("keepwarm_hints_total", "outcome")
    ends = [name for name, _ in rows(METRICS, "| `outcome` of a prediction | how it ended |")]
    assert ends == list(PREDICTION_OUTCOMES["meanwhile"])
    knowns = [name for name, _ in rows(METRICS, "| `known` | when |")]
    assert knowns == list(PREDICTION_OUTCOMES)
    predictions = [sample.labels for sample in families["keepwarm_reuse_predictions_total"].samples]
    assert [(one["known"], one["outcome"]) for one in predictions] == [
        (known, end) for known, ends in PREDICTION_OUTCOMES.items() for end in ends
    ]
    reasons = [name for name, _ in rows(METRICS, "| `reason` | why nothing was predicted |")]
    assert reasons == list(UNPREDICTED_REASONS) == values_of("keepwarm_reuse_unpredicted_total", "reason")
    assert values_of("keepwarm_scheduling", "mode") == list(SCHEDULING_MODES)
    modes = {sample.labels["mode"]: sample.value for sample in families["keepwarm_scheduling"].samples}
    assert modes == {"fcfs": 0, "cachewise": 1, "active-set": 0}


def test_figures_that_the_code_knows() -> None:
    assert f"longer than {LONGEST_ID} characters" in running(METRICS)
    assert f"more than {MOST_PENDING} had come in" in running(METRICS)
    assert (QUARTER, FORGIVEN_S, AWAY_S, MOST_S) == (0.25, 1, 3_600, 86_400)
    assert "later than three of four are predicted to" in running(METRICS)
    assert "not back within an hour" in running(METRICS)
    assert "of more than a day as a day" in running(METRICS)
    assert DOCUMENTED["KEEPWARM_CONTROL_TOKEN"][1] == f"{LEAST_TOKEN_CHARACTERS} characters or more"
