from __future__ import annotations

import json

import pytest

from keepwarm._errors import InputError, ServerError
from keepwarm._json import to_json
from keepwarm.canary.options import TtftBudget, TuneOptions, candidate_settings, ttft_budget
from keepwarm.canary.record import record_from
from keepwarm.canary.report import tuning_markdown
from keepwarm.canary.runs import Run
from keepwarm.canary.tune import SCHEMA, TuningRecord, judged, p95_ttft_s, run_tuning, tuning_document
from tests.canary.fakes import Bench, FakeAdapter, baseline_run, candidate_run

TWICE = TtftBudget(value=2.0, unit="ratio")


def trial_run(rule: str, limit: int, *, keeps: bool, slower: float = 1.0) -> Run:
    cached = (800,) * 7 if keeps else (800, 416, 0, 0, 0, 0, 0)
    return candidate_run(plugin={"rule": rule, "scan_limit": limit}, cached=cached, one_use_slower=slower)


def tuned(
    *runs: Run | BaseException, limits: tuple[int, ...], budget: TtftBudget = TWICE
) -> tuple[TuningRecord, FakeAdapter]:
    adapter = FakeAdapter()
    kept: list[TuningRecord] = []
    record = run_tuning(
        adapter,
        TuneOptions(scan_limits=limits, p95_ttft_budget=budget),
        Bench(adapter, *runs).instruments(),
        keep=kept.append,
        say=lambda line: None,
    )
    assert kept == [record]
    assert adapter.mode == "stopped"
    return record, adapter


def test_the_smallest_that_keeps_the_prefix_for_each_rule() -> None:
    record, adapter = tuned(
        baseline_run(),
        trial_run("boundary", 16, keeps=True),
        trial_run("boundary", 32, keeps=True),
        trial_run("boundary", 64, keeps=True),
        trial_run("window", 16, keeps=False),
        trial_run("window", 32, keeps=False),
        trial_run("window", 64, keeps=True),
        baseline_run(),
        limits=(64, 16, 32),
    )
    assert [(choice.rule, choice.scan_limit) for choice in record.choices] == [
        ("boundary", 16),
        ("window", 64),
    ]
    assert record.found
    assert record.drill.passed
    assert adapter.events[-2:] == ["start lru window 64", "stop"]
    assert tuning_markdown(record).startswith("# Canary tuning: boundary with 16, window with 64\n")


def test_a_limit_that_is_too_slow_does_not_fit() -> None:
    record, _ = tuned(
        baseline_run(),
        trial_run("boundary", 16, keeps=True, slower=2.5),
        trial_run("boundary", 32, keeps=True, slower=1.9),
        trial_run("window", 16, keeps=True, slower=2.1),
        ServerError("killed"),
        baseline_run(),
        limits=(16, 32),
    )
    assert [choice.scan_limit for choice in record.choices] == [32, None]
    document = json.loads(to_json(tuning_document(record)))
    assert [trial["fit"] for trial in document["trials"]] == [False, True, False, False]
    assert document["trials"][3]["run"] is None
    assert "window none fits" in tuning_markdown(record)


def test_none_fits() -> None:
    lost = [trial_run(rule, 16, keeps=False) for rule in ("boundary", "window")]
    record, _ = tuned(baseline_run(), *lost, baseline_run(), limits=(16,))
    assert not record.found
    assert record.drill.passed


def test_a_machine_that_slowed_down_meanwhile_is_not_blamed_on_the_policy() -> None:
    kept = [trial_run(rule, 16, keeps=True) for rule in ("boundary", "window")]
    record, _ = tuned(baseline_run(), *kept, baseline_run(one_use_slower=1.5), limits=(16,))
    assert record.found
    assert not record.accepted
    assert [reason.code for reason in record.reasons()] == ["steady"]
    assert "Steady machine: refused" in tuning_markdown(record)
    in_seconds, _ = tuned(
        baseline_run(),
        *kept,
        baseline_run(one_use_slower=1.5),
        limits=(16,),
        budget=TtftBudget(value=60.0, unit="s"),
    )
    assert in_seconds.accepted


def test_the_ratio_is_to_lru_before_and_after() -> None:
    kept = [trial_run(rule, 16, keeps=True) for rule in ("boundary", "window")]
    record, _ = tuned(baseline_run(), *kept, baseline_run(one_use_slower=1.1), limits=(16,))
    before_s, after_s = record.baseline_p95_ttft_s, record.rollback_p95_ttft_s
    assert after_s is not None
    assert after_s > before_s
    assert record.trials[0].p95_ratio == pytest.approx(
        record.trials[0].p95_ttft_s / ((before_s + after_s) / 2)
    )
    assert record.accepted


def test_a_record_of_before_the_second_lru_can_be_read() -> None:
    kept = [trial_run(rule, 16, keeps=True) for rule in ("boundary", "window")]
    record, _ = tuned(baseline_run(), *kept, baseline_run(), limits=(16,))
    document = tuning_document(record)
    del document["rollback_p95_ttft_s"]
    read = record_from(to_json(document), SCHEMA, TuningRecord, "canary-tuning.json")
    assert read.rollback_p95_ttft_s is None
    assert (read.choices, read.accepted) == (record.choices, True)


@pytest.mark.parametrize(
    "plugin",
    [
        {"mode": "lru"},
        {"rule": "window"},
        {"scan_limit": 4},
        {"faults": {"slow": 1}},
    ],
)
def test_what_is_not_in_effect_protects_nothing(plugin: dict[str, object]) -> None:
    run = candidate_run(plugin={"rule": "boundary", "scan_limit": 16, **plugin})
    assert not judged("boundary", 16, run, 1.0, TWICE).protects


def test_seconds_are_a_budget_too() -> None:
    run = trial_run("boundary", 16, keeps=True)
    time_s = p95_ttft_s(run)
    assert judged("boundary", 16, run, 0.001, TtftBudget(value=time_s + 0.001, unit="s")).fit
    assert not judged("boundary", 16, run, 1000.0, TtftBudget(value=time_s - 0.001, unit="s")).fit


@pytest.mark.parametrize(
    ("text", "value", "unit"), [("1.05", 1.05, "ratio"), ("1.1x", 1.1, "ratio"), ("0.4s", 0.4, "s")]
)
def test_budget(text: str, value: float, unit: str) -> None:
    assert ttft_budget(text) == TtftBudget(value=value, unit=unit)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["", "s", "fast", "-1", "0", "nan", "infs", "1 s s"])
def test_no_budget(text: str) -> None:
    with pytest.raises(InputError, match=r"0\.4s"):
        ttft_budget(text)


@pytest.mark.parametrize("limits", [(), (0,), (16, 16)])
def test_no_limits(limits: tuple[int, ...]) -> None:
    adapter = FakeAdapter()
    with pytest.raises(InputError, match="16,32,64"):
        run_tuning(
            adapter,
            TuneOptions(scan_limits=limits),
            Bench(adapter, baseline_run()).instruments(),
            keep=lambda record: None,
            say=lambda line: None,
        )
    assert adapter.events == []


def test_settings_of_the_candidate() -> None:
    pairs = ["COMPUTECACHE_RULE=window", "COMPUTECACHE_SCAN_LIMIT=32", "COMPUTECACHE_PROTECTED_SHARE=0.5"]
    assert candidate_settings(pairs) == dict(pair.split("=") for pair in pairs)


@pytest.mark.parametrize(
    ("pairs", "says"),
    [
        (["COMPUTECACHE_RULE"], "NAME=VALUE"),
        (["COMPUTECACHE_MODE=lru"], "chooses it by itself"),
        (["COMPUTECACHE_SPEED=9"], "knows no such setting"),
        (["PATH=/tmp"], "knows no such setting"),
        (["COMPUTECACHE_SCAN_LIMIT=0"], "'0' is no number from 1 to"),
        (["COMPUTECACHE_RULE=sideways"], "'sideways' is none of"),
        (["COMPUTECACHE_RULE=window", "COMPUTECACHE_RULE=boundary"], "twice"),
    ],
)
def test_settings_that_the_plugin_would_only_warn_about(pairs: list[str], says: str) -> None:
    with pytest.raises(InputError, match=says):
        candidate_settings(pairs)
