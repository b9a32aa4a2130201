"""The sequential test: quiet on healthy noise, soon loud on a planted change, and over when that is."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwarm.watch.changes import USUAL, ChangeTest, Direction
from keepwarm.watch.meters import LAST_REQUESTS, SiteMeter, Tokens

WARM = USUAL.skipped + USUAL.learned


def shares(seed: int, mean: float, deviation: float = 0.1) -> Iterator[float]:
    """Healthy requests: some cold at the start of a session, the others around ``mean``."""
    dice = random.Random(seed)
    while True:
        share = dice.gauss(mean, deviation) - (0.3 if dice.random() < 0.15 else 0.0)
        yield min(max(share, 0.0), 1.0)


def fed(seed: int, mean: float, requests: int) -> ChangeTest:
    test = ChangeTest()
    for _, share in zip(range(requests), shares(seed, mean), strict=False):
        test.add(share)
    return test


@pytest.mark.parametrize("seed", range(8))
def test_it_is_quiet_on_healthy_noise(seed: int) -> None:
    test = fed(seed, 0.8, 5_000)
    assert test.changes == {"down": 0, "up": 0}
    assert test.reference == pytest.approx(0.755, abs=0.03)


@pytest.mark.parametrize(("mean", "direction", "requests"), [(0.1, "down", 8), (0.55, "down", 40)])
@pytest.mark.parametrize("seed", range(8))
def test_a_broken_prefix_is_found_soon(seed: int, mean: float, direction: Direction, requests: int) -> None:
    test = fed(seed, 0.8, 500)
    needed = 0
    for share in shares(seed, mean):
        test.add(share)
        needed += 1
        if test.score(direction) >= 1:
            break
    assert needed <= requests
    assert test.changes[direction] == 1


def test_a_repair_is_found_too_and_ends_the_change() -> None:
    test = fed(1, 0.3, 500)
    for _, share in zip(range(100), shares(2, 0.9), strict=False):
        test.add(share)
    assert test.score("up") >= 1
    assert test.score("down") == 0
    for _, share in zip(range(200), shares(3, 0.3), strict=False):
        test.add(share)
    assert test.score("up") < 1
    assert test.changes["up"] == 1


def test_the_reference_stands_still_during_a_change_and_learns_anew_where_it_stays() -> None:
    test = fed(1, 0.9, 500)
    before = test.reference
    assert before is not None
    for _ in range(1_000):
        test.add(0.2)
    assert test.reference == pytest.approx(before, abs=0.02)
    for _ in range(USUAL.accepted):
        test.add(0.2)
    assert test.reference == pytest.approx(0.2)
    assert test.score("down") == 0
    assert test.changes == {"down": 1, "up": 0}


def test_a_slow_drift_is_no_change() -> None:
    test = ChangeTest()
    for number, share in zip(range(20_000), shares(5, 0.7, 0.08), strict=False):
        test.add(share + 0.15 * number / 20_000)
    assert test.changes == {"down": 0, "up": 0}


def test_nothing_is_said_before_the_reference_is_known() -> None:
    test = ChangeTest()
    for number in range(WARM):
        assert test.reference is None
        test.add(float(number % 2))
        assert (test.score("down"), test.score("up")) == (0, 0)
    assert test.reference == pytest.approx(0.5)


@given(st.lists(st.floats(0, 1), max_size=400))
def test_scores_and_reference_stay_in_their_bounds(values: list[float]) -> None:
    test = ChangeTest()
    for value in values:
        test.add(value)
        assert 0 <= test.score("down") <= 2
        assert 0 <= test.score("up") <= 2
        assert test.reference is None or 0 <= test.reference <= 1


def test_a_meter_keeps_what_was_recorded_apart_from_what_was_simulated() -> None:
    meter = SiteMeter("site-1", "triage")
    for _ in range(LAST_REQUESTS):
        assert meter.origins["simulated"].last is None
        meter.add(Tokens(100, 80), Tokens(120, 30))
    meter.add(Tokens(0, 0), None)
    simulated, recorded = meter.origins["simulated"], meter.origins["recorded"]
    assert (simulated.prompt_tokens, simulated.hit_tokens, simulated.last) == (2_000, 1_600, 0.8)
    assert (recorded.prompt_tokens, recorded.hit_tokens, recorded.last) == (2_400, 600, 0.25)
    assert meter.requests == LAST_REQUESTS + 1
