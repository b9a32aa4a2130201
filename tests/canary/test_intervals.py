from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwarm.canary.intervals import paired_ratio, signed_rank_bound, walsh_means

times = st.lists(st.floats(0.001, 100), min_size=1, max_size=30)


def bound_by_enumeration(pairs: int) -> int:
    """The definition: the largest c with P(T < c) at most 2.5%, over all signs of the ranks."""
    sums = [
        sum(rank for rank, sign in enumerate(signs, 1) if sign)
        for signs in itertools.product((0, 1), repeat=pairs)
    ]
    c = 0
    while sum(total < c + 1 for total in sums) / len(sums) <= 0.025:
        c += 1
    return c


@pytest.mark.parametrize("pairs", range(1, 13))
def test_bound_is_the_exact_one(pairs: int) -> None:
    assert signed_rank_bound(pairs) == bound_by_enumeration(pairs)


def test_fewer_than_six_pairs_bound_nothing() -> None:
    five = paired_ratio([2.0] * 5, [1.0] * 5)
    six = paired_ratio([2.0] * 6, [1.0] * 6)
    assert five is not None
    assert six is not None
    assert (five.ratio, five.low, five.high) == (pytest.approx(2), None, None)
    assert not five.beyond(1.05)
    assert not five.within(3)
    assert six.beyond(1.05)
    assert six.within(2.1)


def test_walsh_means() -> None:
    assert walsh_means(np.array([0.0, 1.0, 4.0])).tolist() == [0.0, 0.5, 1.0, 2.0, 2.5, 4.0]


@given(times, st.floats(0.1, 10))
def test_a_common_factor_is_found_exactly(baseline: list[float], factor: float) -> None:
    found = paired_ratio([time * factor for time in baseline], baseline)
    assert found is not None
    assert found.ratio == pytest.approx(factor)
    if len(baseline) >= 6:
        assert found.low == pytest.approx(factor)
        assert found.high == pytest.approx(factor)


@given(st.lists(st.tuples(st.floats(0.001, 100), st.floats(0.001, 100)), min_size=6, max_size=40))
def test_swapping_the_sides_inverts_the_interval(pairs: list[tuple[float, float]]) -> None:
    candidate, baseline = [c for c, _ in pairs], [b for _, b in pairs]
    one, other = paired_ratio(candidate, baseline), paired_ratio(baseline, candidate)
    assert one is not None
    assert other is not None
    assert one.low is not None
    assert one.high is not None
    assert one.low <= one.ratio * (1 + 1e-9)
    assert one.ratio <= one.high * (1 + 1e-9)
    assert other.low == pytest.approx(1 / one.high)
    assert other.high == pytest.approx(1 / one.low)


def test_the_interval_covers_what_is_true_as_often_as_it_says() -> None:
    draw = random.Random(4)
    covered = 0
    for _ in range(400):
        baseline = [1.0] * 20
        candidate = [1.03 * math.exp(draw.gauss(0, 0.1)) for _ in baseline]
        found = paired_ratio(candidate, baseline)
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 1.03 <= found.high
    assert 0.92 <= covered / 400 <= 0.99


def test_requests_without_a_time_are_left_out() -> None:
    found = paired_ratio([2.0, None, 2.0, 0.0], [1.0, 1.0, None, 1.0])
    assert found is not None
    assert found.pairs == 1
    assert paired_ratio([None], [1.0]) is None
    assert paired_ratio([], []) is None


def test_many_pairs_are_thinned_evenly() -> None:
    found = paired_ratio([1.0] * 1500 + [3.0] * 1500, [1.0] * 3000)
    assert found is not None
    assert found.pairs == 1000
    assert found.ratio == pytest.approx(math.sqrt(3))
