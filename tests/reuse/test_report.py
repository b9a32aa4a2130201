from __future__ import annotations

import math
from random import Random

import pytest

from keepwarm._errors import InputError
from keepwarm.reuse.calls import ToolCall
from keepwarm.reuse.durations.read import Durations
from keepwarm.reuse.fit import FitOptions, fit
from keepwarm.reuse.report.document import report_document, reuse_report
from keepwarm.reuse.report.held_out import Row, SplitOptions, split_by_task
from keepwarm.reuse.report.metrics import (
    Moment,
    as_found,
    at_start,
    choice_regret_s,
    order_accuracy,
    ranks,
)
from keepwarm.reuse.report.text import render_report
from tests.reuse.samples import listings_and_builds, ran

CALL = ToolCall("bash", "x")
# Left: 2 s, 10 s, 5 s or more.
THREE = [Moment(CALL, 0.0, 2.0, 2.0), Moment(CALL, 1.0, 10.0, 10.0), Moment(CALL, 2.0, 5.0, math.inf)]
PAIRS = [(0, 1), (1, 0), (0, 2), (1, 2)]  # of the last nobody knows
DURATIONS = tuple(listings_and_builds())
READ = Durations(DURATIONS, ("calls.csv",), ())
QUICK = SplitOptions(clusters=(2,), splits=2)


@pytest.mark.parametrize(
    ("said", "accuracy"),
    [([1.0, 9.0, 4.0], 1.0), ([9.0, 1.0, 0.0], 0.0), ([3.0, 3.0, 3.0], 0.5), ([1.0, 9.0, 0.0], 2 / 3)],
)
def test_order_counts_pairs_whose_order_is_known(said: list[float], accuracy: float) -> None:
    assert order_accuracy(said, THREE, PAIRS, 0.0) == pytest.approx(accuracy)


def test_order_leaves_out_pairs_that_end_together() -> None:
    assert order_accuracy([9.0, 1.0, 5.0], THREE, [(0, 2)], 2.9) == 0.0
    assert order_accuracy([9.0, 1.0, 5.0], THREE, [(0, 2)], 3.0) is None


@pytest.mark.parametrize(
    ("said", "regret_s"),
    [([1.0, 9.0, 4.0], 0.0), ([9.0, 1.0, 4.0], 8.0), ([1.0, 4.0, 9.0], 0.0), ([7.0, 7.0, 7.0], 8.0)],
)
def test_regret_is_the_least_that_is_known(said: list[float], regret_s: float) -> None:
    assert choice_regret_s(said, THREE, [(0, 1, 2)]) == regret_s


def test_regret_of_chance_is_its_expectation() -> None:
    assert choice_regret_s(None, THREE, [(0, 1, 2), (0, 1)]) == pytest.approx((8 / 3 + 8 / 2) / 2)


def test_unknown_goes_by_the_time_idle() -> None:
    assert ranks(lambda _, elapsed_s: None if elapsed_s else 7.0, THREE) == [7.0, 1.0, 2.0]


def test_an_eviction_finds_long_calls_more_often() -> None:
    found = as_found([ran("short", 1.0), ran("long", 99.0), ran("none", 0.0)], 1_000, Random(1))
    assert 950 < sum(moment.call.arguments == "long" for moment in found) < 1_000
    assert all(0.0 <= moment.elapsed_s < 99.0 for moment in found)
    assert as_found([ran("none", 0.0)], 5, Random(1)) == []
    assert at_start([ran("x", 3.0, cut_off=True)]) == [Moment(CALL, 0.0, 3.0, math.inf)]


def test_tasks_are_on_one_side() -> None:
    train, test = split_by_task(DURATIONS, 0.3, Random(5))
    assert {d.task for d in train}.isdisjoint({d.task for d in test})
    assert len(train) + len(test) == len(DURATIONS)
    assert test


def rows_of(options: SplitOptions = QUICK) -> dict[str, Row]:
    return {row.step: row for row in reuse_report(READ, None, options).rows}


def test_clusters_tell_apart_what_the_tool_does_not() -> None:
    rows = rows_of()
    assert list(rows) == ["random", "longest-idle", "global", "tool", "C2"]
    for step in ("random", "longest-idle", "global", "tool"):
        assert rows[step].order_start.mean == 0.5
    assert rows["C2"].order_start.mean > 0.7
    assert rows["C2"].regret_start_s.mean < rows["tool"].regret_start_s.mean
    assert rows["C2"].clusters == 2
    for row in rows.values():
        for interval in (row.order_any, row.order_found, row.regret_start_s, row.regret_found_s):
            assert 0.0 <= interval.low <= interval.mean <= interval.high


def test_the_same_seed_gives_the_same_figures() -> None:
    assert rows_of() == rows_of()
    assert rows_of() != rows_of(QUICK._replace(seed=1))


def test_a_model_is_described_and_judged() -> None:
    model = fit(DURATIONS, FitOptions(clusters=2), ("calls.csv",))
    described = reuse_report(None, model, QUICK)
    assert described.rows == ()
    assert described.input is None
    assert described.model is not None
    assert [(step.tool, step.calls) for step in described.model.steps] == [
        *((None, 120), ("bash", 120)),
        *(("bash", cluster.curve.samples) for cluster in model.tools["bash"].clusters),
    ]
    judged = reuse_report(READ, model, QUICK)
    assert [row.step for row in judged.rows] == ["random", "longest-idle", "global", "tool", "clusters"]


def test_nothing_to_report_on() -> None:
    with pytest.raises(InputError, match="nothing to report on"):
        reuse_report(None, None, QUICK)
    with pytest.raises(InputError, match="of one task"):
        reuse_report(Durations((ran("x", 1.0),) * 60, ("f",), ()), None, QUICK)


def test_document_and_text() -> None:
    report = reuse_report(Durations(DURATIONS, ("a\x1b[31m.csv",), ("'a': left out 1 × x",)), None, QUICK)
    document = report_document(report)
    assert document["schema"] == "keepwarm.reuse-report/1"
    assert list(document) == ["schema", "settings", "input", "model", "rows"]
    assert document["input"]["calls"] == 120
    text = render_report(report, width=100, colour=False)
    assert "\x1b" not in text
    assert "120 calls of 4 tasks, 12 cut off" in text
    assert max(map(len, text.splitlines())) <= 100
    model = render_report(reuse_report(None, fit(DURATIONS), QUICK), width=100, colour=False)
    assert max(map(len, model.splitlines())) <= 100
    assert "^ make" in model
