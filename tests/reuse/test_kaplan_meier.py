from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwarm.reuse.durations.base import ToolDuration
from keepwarm.reuse.kaplan_meier import survival_curve
from tests.reuse.samples import ran, tool_durations


def test_the_shares_are_those_of_the_estimator() -> None:
    # By hand, with one call more that outlasts all: 1 of 6 ends at 1 s, one is cut off, 1 of 4 ends at 3.
    curve = survival_curve(
        [ran("x", 1.0), ran("x", 2.0, cut_off=True), ran("x", 3.0), ran("x", 5.0), ran("x", 5.0)]
    )
    assert curve.times_s == (1.0, 3.0, 5.0)
    assert curve.survival == pytest.approx((5 / 6, 5 / 6 * 3 / 4, 5 / 6 * 3 / 4 * 1 / 3))
    assert (curve.end_s, curve.samples) == (5.0, 5)


def test_calls_cut_off_are_not_taken_for_calls_that_ended() -> None:
    ended = [ran("x", 10.0)] * 30
    cut_off = [ran("x", 10.0, cut_off=True)] * 30
    all_ended, half_ended = survival_curve(ended + ended), survival_curve(ended + cut_off)
    assert half_ended.survival[-1] == pytest.approx(31 / 61)
    assert all_ended.survival[-1] == pytest.approx(1 / 61)
    assert (half_ended.remaining_s(0.0) or 0.0) > 3 * (all_ended.remaining_s(0.0) or 0.0)


def test_all_cut_off_leaves_a_curve_without_a_step() -> None:
    curve = survival_curve([ran("x", 30.0, cut_off=True)] * 40)
    assert curve.survival == ()
    remaining_s = curve.remaining_s(29.0)
    assert remaining_s is not None
    assert remaining_s > 30.0


def test_few_calls_lean_on_the_curve_below() -> None:
    below = survival_curve([ran("x", float(second)) for second in range(1, 101)])
    few = survival_curve([ran("x", 1.0)] * 30, (below,))
    many = survival_curve([ran("x", 1.0)] * 3_000, (below,))
    of_few, of_many = few.remaining_s(0.0), many.remaining_s(0.0)
    assert of_few is not None
    assert of_many is not None
    assert 1.0 < of_many < of_few < (below.remaining_s(0.0) or 0.0)


@given(tool_durations(max_s=50.0), tool_durations())
def test_a_curve_goes_over_to_the_one_below(own: list[ToolDuration], others: list[ToolDuration]) -> None:
    below = survival_curve(own + others)
    curve = survival_curve(own, (below,))
    # The last moment before the end, where nothing more ends in between.
    before_end_s = curve.end_s - min(1e-7, curve.end_s / 2)
    expected = below.remaining_s(curve.end_s) or below.beyond_s
    if all(time_s <= before_end_s or time_s >= curve.end_s for time_s in curve.times_s):
        remaining_s = curve.remaining_s(before_end_s)
        assert remaining_s is not None
        last = curve.survival[-1] if curve.times_s and curve.times_s[-1] == curve.end_s else None
        before = [s for t, s in zip(curve.times_s, curve.survival, strict=True) if t <= before_end_s]
        left = 1.0 if last is None else last / (before[-1] if before else 1.0)
        assert remaining_s == pytest.approx(expected * left, rel=1e-3, abs=1e-5)


@given(tool_durations(), st.floats(0.0, 100.0))
def test_an_overrunning_call_never_looks_imminent(durations: list[ToolDuration], elapsed_s: float) -> None:
    curve = survival_curve(durations)
    remaining_s = curve.remaining_s(elapsed_s)
    assert remaining_s is None or remaining_s > 0.0
    assert curve.beyond_s > 0.0
    assert curve.survival == tuple(sorted(set(curve.survival), reverse=True))


def test_points_are_bounded_and_keep_the_shape() -> None:
    durations = [ran("x", number / 100) for number in range(1, 20_001)]
    curve = survival_curve(durations)
    assert len(curve.times_s) <= 512
    assert curve.times_s[-1] == 200.0
    assert curve.remaining_s(0.0) == pytest.approx(100.0, rel=0.02)
