from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from keepwarm.reuse.curves import Curve
from tests.reuse.samples import curves

HALVES = Curve([1.0, 3.0], [0.5, 0.25], end_s=4.0, beyond_s=8.0, samples=4)


@pytest.mark.parametrize(
    ("elapsed_s", "remaining_s"),
    [
        (0.0, 1.0 + 2 * 0.5 + 1 * 0.25 + 8 * 0.25),
        (0.5, 0.5 + 2 * 0.5 + 1 * 0.25 + 8 * 0.25),
        (1.0, (2 * 0.5 + 1 * 0.25 + 8 * 0.25) / 0.5),  # one that ends at 1.0 has ended by then
        (3.5, (0.5 * 0.25 + 8 * 0.25) / 0.25),
        (-1.0, 1.0 + 2 * 0.5 + 1 * 0.25 + 8 * 0.25),  # a clock that went back
        (4.0, None),
        (math.inf, None),
        (math.nan, None),
    ],
)
def test_what_is_left(elapsed_s: float, remaining_s: float | None) -> None:
    assert HALVES.remaining_s(elapsed_s) == (None if remaining_s is None else pytest.approx(remaining_s))


def test_nothing_outlasts_a_curve_that_falls_to_nothing() -> None:
    curve = Curve([1.0], [0.0], end_s=2.0, beyond_s=1.0, samples=1)
    assert curve.remaining_s(0.5) == pytest.approx(0.5)
    assert curve.remaining_s(1.0) is None


@given(curves(), st.floats(0.0, 200.0))
def test_never_nought_and_never_known_past_the_end(curve: Curve, elapsed_s: float) -> None:
    remaining_s = curve.remaining_s(elapsed_s)
    if elapsed_s >= curve.end_s:
        assert remaining_s is None
    elif remaining_s is not None:
        assert 0.0 < remaining_s < math.inf


@given(curves(), st.floats(0.0, 100.0), st.floats(0.0, 100.0))
def test_who_has_run_longer_ends_later_in_all(curve: Curve, one_s: float, other_s: float) -> None:
    earlier_s, later_s = sorted((one_s, other_s))
    first, second = curve.remaining_s(earlier_s), curve.remaining_s(later_s)
    assume(first is not None and second is not None)
    assert first is not None
    assert second is not None
    assert later_s + second >= (earlier_s + first) * (1 - 1e-9)


@given(curves(), st.floats(0.0, 100.0))
def test_the_integral_is_that_of_the_steps(curve: Curve, elapsed_s: float) -> None:
    remaining_s = curve.remaining_s(elapsed_s)
    assume(remaining_s is not None)
    edges = sorted({elapsed_s, curve.end_s, *(time_s for time_s in curve.times_s if time_s > elapsed_s)})

    def share(at_s: float) -> float:
        return min([1.0, *(s for t, s in zip(curve.times_s, curve.survival, strict=True) if t <= at_s)])

    area = sum(share(left) * (right - left) for left, right in pairwise(edges))
    area += share(curve.end_s) * curve.beyond_s
    assert remaining_s == pytest.approx(area / share(elapsed_s), rel=1e-6)
