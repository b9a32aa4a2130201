"""Intervals: the statistics on resamples are those of numpy on the drawn values, and the bounds are sane."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwarm.replay.comparing.bootstrap import (
    LEAST_UNITS,
    Columns,
    Resampler,
    median,
    median_ratio,
    rate,
    rise,
)

drawn = st.lists(st.tuples(st.floats(0.001, 100), st.integers(0, 5)), min_size=1, max_size=30).filter(
    lambda pairs: any(times for _, times in pairs)
)


@given(drawn)
def test_a_median_is_numpys_of_what_was_drawn(pairs: list[tuple[float, int]]) -> None:
    values, times = np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs])
    (found,) = median(values)(times[None, :])
    assert found == pytest.approx(np.median(np.repeat(values, times)))


@given(drawn)
def test_a_rate_is_that_of_what_was_drawn(pairs: list[tuple[float, int]]) -> None:
    prompt, times = np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs])
    cached = prompt / 3
    (found,) = rate(cached, prompt)(times[None, :])
    assert found == pytest.approx(1 / 3)


def columns(pairs: int, seed: int = 0) -> Columns:
    random = np.random.default_rng(seed)
    prompt = random.integers(500, 1500, pairs).astype(float)
    return Columns(
        prompt_before=prompt,
        prompt_after=prompt,
        cached_before=prompt * random.uniform(0, 0.1, pairs),
        cached_after=prompt * random.uniform(0.6, 0.9, pairs),
        ttft_before_s=random.lognormal(0, 0.2, pairs),
        ttft_after_s=random.lognormal(-0.7, 0.2, pairs),
    )


def test_bounds_lie_around_the_figure_and_repeat() -> None:
    data = columns(60)
    statistics = (
        rise(data),
        median(data.ttft_after_s),
        median_ratio(data.ttft_before_s, data.ttft_after_s),
    )
    for statistic in statistics:
        estimate = Resampler([None] * 60, seed=0).estimate(statistic)
        assert estimate == Resampler([None] * 60, seed=0).estimate(statistic)
        assert estimate.low is not None
        assert estimate.high is not None
        assert estimate.low <= estimate.value <= estimate.high
        assert estimate.high - estimate.low < 0.5 * abs(estimate.value)


def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    """Of 200 samples of a known distribution about 95% of the intervals hold its median."""
    held = 0
    for seed in range(200):
        values = np.random.default_rng(seed).lognormal(0, 0.5, 40)
        resampler = Resampler([None] * 40, seed=seed)
        resampler.info = type(resampler.info)(
            confidence=0.95, resamples=400, seed=seed, unit="request", units=40
        )
        estimate = resampler.estimate(median(values))
        assert estimate.low is not None
        assert estimate.high is not None
        held += estimate.low <= 1.0 <= estimate.high
    assert 0.88 <= held / 200 <= 1.0


def test_sessions_are_drawn_as_wholes_and_widen_the_interval() -> None:
    sessions = [f"s{number // 10}" for number in range(100)]
    values = np.repeat(np.arange(1.0, 11.0), 10)  # all requests of a session alike
    by_session = Resampler(sessions, 0)
    assert (by_session.info.unit, by_session.info.units) == ("session", 10)
    wide = by_session.estimate(median(values))
    narrow = Resampler([None] * 100, 0).estimate(median(values))
    assert (wide.high or 0) - (wide.low or 0) > (narrow.high or 0) - (narrow.low or 0)


@pytest.mark.parametrize(
    ("sessions", "unit"),
    [(["a"] * 40, "request"), ([None, *"abcdefghij"], "request"), (list("abcdefgh"), "session")],
)
def test_few_or_unnamed_sessions_are_no_units(sessions: list[str | None], unit: str) -> None:
    assert Resampler(sessions, 0).info.unit == unit


def test_too_few_requests_have_no_bounds() -> None:
    values = np.arange(1.0, LEAST_UNITS)
    estimate = Resampler([None] * len(values), 0).estimate(median(values))
    assert (estimate.value, estimate.low, estimate.high) == (4.0, None, None)
