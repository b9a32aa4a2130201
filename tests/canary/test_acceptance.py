from __future__ import annotations

from typing import Any

import msgspec
import pytest

from keepwarm.canary.acceptance import Decision, decide
from keepwarm.canary.options import CanaryOptions
from keepwarm.canary.runs import Run
from tests.canary.fakes import baseline_run, candidate_run, plugin_metrics

CODES = [
    "served",
    "in-effect",
    "same-workload",
    "gain",
    "same-text",
    "ttft-one-use",
    "ttft-hot",
    "faultless",
    "consistent",
]


def decided(
    candidate: Run, *, baseline: Run | None = None, again: Run | None = None, **options: Any
) -> Decision:
    return decide(baseline or baseline_run(), candidate, again=again, options=CanaryOptions(**options))


def test_a_candidate_that_keeps_the_prefix_is_accepted() -> None:
    decision = decided(candidate_run(), again=baseline_run())
    assert decision.accepted
    assert [check.code for check in decision.checks] == CODES
    assert {check.outcome for check in decision.checks} == {"passed"}
    assert decision.reasons() == []


OTHER_TEXT = ("text 0", "text 1", "other", "text 3", "text 4", "text 5", "text 6")


@pytest.mark.parametrize(
    ("candidate", "code"),
    [
        (candidate_run(failed=1), "served"),
        (candidate_run(plugin={"mode": "lru"}), "in-effect"),
        (candidate_run(mode="lru"), "in-effect"),
        (candidate_run(flood_prompt_tokens=400), "same-workload"),
        (candidate_run(cached=(800, 416, 0, 0, 0, 0, 0)), "gain"),
        (candidate_run(cached=(800, 800, 800, 800, 800, 800, None)), "gain"),
        (candidate_run(texts=OTHER_TEXT), "same-text"),
        (candidate_run(one_use_slower=1.2), "ttft-one-use"),
        (candidate_run(slower=40.0, one_use_slower=1.0), "ttft-hot"),
        (candidate_run(plugin={"faults": {"slow": 2}}), "faultless"),
        (candidate_run(plugin={"tripped_engines": 1}), "faultless"),
        (candidate_run(inconsistencies=("usage says 800, counters 0",)), "consistent"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_reason_alone_refuses(candidate: Run, code: str) -> None:
    decision = decided(candidate)
    assert not decision.accepted
    assert [reason.code for reason in decision.reasons()] == [code]
    assert decision.reasons()[0].figures
    msgspec.json.encode(decision)


def test_a_baseline_that_contradicts_itself_refuses() -> None:
    decision = decided(candidate_run(), baseline=baseline_run(inconsistencies=("two users",)))
    assert [reason.code for reason in decision.reasons()] == ["consistent"]


def test_a_baseline_whose_counters_fail_refuses() -> None:
    baseline = msgspec.structs.replace(baseline_run(), plugin=plugin_metrics(faults={"evict": 4148}))
    (reason,) = decided(candidate_run(), baseline=baseline).reasons()
    assert reason.code == "faultless"
    assert reason.figures["baseline_faults_evict"] == 4148


def test_some_gain_is_enough() -> None:
    assert decided(candidate_run(cached=(800, 800, 800, 800, 800, 800, 16))).accepted


@pytest.mark.parametrize(("slower", "outcome"), [(1.0, "passed"), (1.049, "passed"), (1.051, "refused")])
def test_the_budget_is_a_ratio(slower: float, outcome: str) -> None:
    by_code = {check.code: check for check in decided(candidate_run(one_use_slower=slower)).checks}
    assert by_code["ttft-one-use"].outcome == outcome
    assert by_code["ttft-one-use"].figures["baseline_ratio"] == pytest.approx(slower)


def noisy(run: Run, factors: list[float]) -> Run:
    """``run`` with the TTFT of each one-use request multiplied in turn."""
    steps = []
    at = 0
    for step in run.pressure.steps:
        times = tuple(
            time_s * factors[(at + i) % len(factors)]
            for i, time_s in enumerate(step.flood_ttfts_s)
            if time_s is not None
        )
        at += len(times)
        steps.append(msgspec.structs.replace(step, flood_ttfts_s=times))
    return msgspec.structs.replace(run, pressure=msgspec.structs.replace(run.pressure, steps=tuple(steps)))


def test_an_interval_across_the_budget_shows_nothing_and_refuses_nothing() -> None:
    decision = decided(noisy(candidate_run(), [0.5, 0.8, 1.1, 1.4, 2.0]))
    check = next(check for check in decision.checks if check.code == "ttft-one-use")
    assert check.outcome == "not shown"
    assert check.figures["baseline_low"] < 1.05 < check.figures["baseline_high"]  # type: ignore[operator]
    assert decision.accepted


def test_a_machine_that_slows_down_is_not_the_candidate_s_fault() -> None:
    """Slower than the run before, as fast as the run after: drift."""
    slow = candidate_run(one_use_slower=1.2)
    drifted = decided(slow, again=baseline_run(one_use_slower=1.2))
    check = next(check for check in drifted.checks if check.code == "ttft-one-use")
    assert (drifted.accepted, check.outcome) == (True, "not shown")
    assert check.figures["rollback_ratio"] == pytest.approx(1.0)
    refused = decided(slow, again=baseline_run())
    assert [reason.code for reason in refused.reasons()] == ["ttft-one-use"]


def test_times_that_are_missing_show_nothing() -> None:
    steps = tuple(
        msgspec.structs.replace(step, flood_ttfts_s=(None,) * step.batch_requests)
        for step in candidate_run().pressure.steps
    )
    check = next(
        check for check in decided(candidate_run(steps=steps)).checks if check.code == "ttft-one-use"
    )
    assert check.outcome == "not shown"


def test_other_text_may_be_allowed() -> None:
    decision = decided(candidate_run(texts=OTHER_TEXT), other_text=True)
    check = next(check for check in decision.checks if check.code == "same-text")
    assert decision.accepted
    assert check.outcome == "not shown"
    assert check.figures == {"steps": 7, "differing_steps": 1, "first_after_requests": 4}
