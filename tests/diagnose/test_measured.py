"""Recorded hits against simulated ones: what is missing, and which time to live explains it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from keepwarm.diagnose.measured import Measured, measure, recorded_hit
from keepwarm.trace.catalog import Catalog
from keepwarm.trace.records import Request, Usage
from tests.diagnose.building import LONG, chat, request, traffic_of, used

START_S = 1_900_000_000.0


def conversation(gaps_s: Sequence[float]) -> list[Request]:
    """A conversation that grows, with a silence before each turn; the first turn has none."""
    times = list(itertools.accumulate([START_S, *gaps_s]))
    texts = [f"turn {n} {LONG}" for n in range(2 * len(times))]
    return [
        request(n, chat(*texts[: 2 * n + 1], system=LONG * 3), time_s=time_s)
        for n, time_s in enumerate(times)
    ]


def recorded(items: Sequence[Request], held: Sequence[bool], scale: float = 1.0) -> Measured:
    """As measured where the server reported its hits, or none where nothing was held; in its own tokens."""
    plain = measure(traffic_of(items))
    reported = [
        msgspec.structs.replace(
            item, usage=used(round(plain.prompt[n] * scale), round(plain.hit[n] * scale) if held[n] else 0)
        )
        for n, item in enumerate(items)
    ]
    return measure(traffic_of(reported))


@given(
    st.lists(st.sampled_from([8.0, 20.0, 45.0, 150.0, 400.0, 900.0, 2500.0]), min_size=6, max_size=9),
    st.sampled_from([100.0, 300.0, 600.0, 1500.0]),
    st.sampled_from([0.8, 1.0, 1.3]),
)
def test_a_time_to_live_is_found_with_the_rows_it_explains(
    gaps_s: list[float], ttl_s: float, scale: float
) -> None:
    held = [True, *(gap <= ttl_s for gap in gaps_s)]
    assume(3 <= sum(held[1:]) <= len(gaps_s) - 2)
    found = recorded(conversation(gaps_s), held, scale)
    late = [n for n, kept in enumerate(held) if not kept]
    assert found.expired == frozenset(late)
    assert found.ttl_s is not None
    # The trace cannot say more: between the longest silence that held and the shortest that did not.
    longest_held = max(gap for gap in gaps_s if gap <= ttl_s)
    shortest_lost = min(gap for gap in gaps_s if gap > ttl_s)
    assert max(60.0, longest_held) <= found.ttl_s < shortest_lost
    assert all((found.shortfall[n] > 0) is (n in late) for n in range(len(held)))


def test_a_server_that_keeps_everything_misses_nothing() -> None:
    items = conversation([20, 4000, 30, 5000, 25])
    found = recorded(items, [True] * len(items))
    assert found.expired == frozenset()
    assert found.ttl_s is None
    assert set(found.shortfall) == {0}


def test_misses_after_short_and_long_silence_alike_are_not_expired() -> None:
    items = conversation([20, 4000, 30, 5000, 25, 4500, 35, 4200])
    found = recorded(items, [True, False, True, False, True, False, True, False, True])
    assert found.expired == frozenset()
    assert sum(missing > 0 for missing in found.shortfall) == 4


def test_a_time_to_live_has_to_hold_what_is_used_within_it() -> None:
    # Long silences explain most of what is missing, yet half of the prefixes used in time miss too.
    gaps_s = [20.0, 25.0, 20.0, 25.0, 4000.0, 5000.0, 4500.0, 4200.0]
    found = recorded(conversation(gaps_s), [True, False, True, False, True, False, False, False, False])
    assert sum(missing > 0 for missing in found.shortfall) == 6
    assert found.expired == frozenset()
    assert found.ttl_s is None


def test_misses_within_seconds_are_no_time_to_live() -> None:
    items = conversation([10, 11, 12, 13, 14, 15])
    found = recorded(items, [True] + [False] * 6)
    assert found.expired == frozenset()


def test_a_known_time_to_live_is_taken_as_it_is() -> None:
    items = conversation([20, 400, 30, 500, 25])
    plain = measure(traffic_of(items))
    gone = {2, 4}
    reported = [
        msgspec.structs.replace(item, usage=used(plain.prompt[n], 0 if n in gone else plain.hit[n]))
        for n, item in enumerate(items)
    ]
    found = measure(traffic_of(reported), ttl_s=300.0)
    assert (found.ttl_s, found.expired) == (300.0, frozenset(gone))
    assert measure(traffic_of(reported), ttl_s=3600.0).expired == frozenset()


def test_nothing_recorded_means_nothing_missing() -> None:
    found = measure(traffic_of(conversation([20, 4000])))
    assert set(found.shortfall) == {0}
    assert found.expired == frozenset()


def test_requests_without_times_have_a_shortfall_and_no_time_to_live() -> None:
    items = [msgspec.structs.replace(item, time_s=None) for item in conversation([20, 4000, 30, 4000])]
    found = recorded(items, [True, True, False, True, False])
    assert found.expired == frozenset()
    assert [missing > 0 for missing in found.shortfall] == [False, False, True, False, True]


@pytest.mark.parametrize("share", [0.9, 1.0, 1.2])
def test_small_differences_are_noise(share: float) -> None:
    items = conversation([20, 30, 40])
    plain = measure(traffic_of(items))
    reported = [
        msgspec.structs.replace(item, usage=used(plain.prompt[n], int(share * plain.hit[n])))
        for n, item in enumerate(items)
    ]
    assert set(measure(traffic_of(reported)).shortfall) == {0}


def test_a_bounded_cache_hits_no_more_than_an_unbounded_one() -> None:
    items = [
        item for pair in zip(conversation([20] * 4), conversation([20] * 4), strict=True) for item in pair
    ]
    found = measure(traffic_of(items, capacity_blocks=20))
    assert all(0 <= a <= b for a, b in zip(found.hit, found.hit_unbounded, strict=True))
    assert sum(found.hit) < sum(found.hit_unbounded)


@pytest.mark.parametrize(
    ("usage", "hit"),
    [
        (Usage(), None),
        (Usage(prompt_tokens=100), None),
        (Usage(prompt_tokens=100, cached_tokens=50), 100),
        (Usage(prompt_tokens=400, cached_tokens=50), 25),
        (Usage(cached_tokens=50), 50),
        (Usage(prompt_tokens=0, cached_tokens=50), 50),
        (Usage(prompt_tokens=100, cached_tokens=0), 0),
    ],
)
def test_recorded_hits_are_converted_to_our_tokens(usage: Usage, hit: int | None) -> None:
    (row,) = Catalog([Request(line=1, id="r", usage=usage)])
    assert recorded_hit(row, 200) == hit
