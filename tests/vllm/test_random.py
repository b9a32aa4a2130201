"""At least 50,000 random requests in `make test`, 200,000 in `make test-full`; nothing may differ."""

from __future__ import annotations

from collections import Counter

import pytest

from keepwarm._errors import KeepwarmError
from tests.vllm.streams import play

STREAM_REQUESTS = (50, 100, 200)  # by seed, in turn
QUICK_SEED, LONG_SEED = 1_000_000, 2_000_000  # the soak begins at 0


def compare(first_seed: int, requests: int) -> Counter[str]:
    """Streams of consecutive seeds until ``requests`` are compared."""
    counts: Counter[str] = Counter()
    seed = first_seed
    while counts["requests"] < requests:
        try:
            counts += play(seed, STREAM_REQUESTS[seed % len(STREAM_REQUESTS)]).counts
        except (AssertionError, KeepwarmError) as difference:
            pytest.fail(f"seed {seed}: {difference}", pytrace=False)
        seed += 1
    return counts


def check_that_all_happened(counts: Counter[str]) -> None:
    """Streams in which nothing is evicted or preempted would prove nothing."""
    for event, least in {"hit tokens": 50_000, "evictions": 5000, "preemptions": 20, "aborts": 20}.items():
        assert counts[event] >= least, event
    assert counts["resets"] > 0
    assert counts["refused resets"] > 0
    assert counts["finished"] + counts["aborts"] == counts["requests"]


@pytest.mark.parametrize("part", range(5))
def test_random_streams(part: int, totals: Counter[str]) -> None:
    counts = compare(QUICK_SEED + part * 10_000, 10_000)
    totals.update(counts)
    assert counts["requests"] >= 10_000
    check_that_all_happened(counts)


@pytest.mark.long
@pytest.mark.parametrize("part", range(5))
def test_more_random_streams(part: int, totals: Counter[str]) -> None:
    counts = compare(LONG_SEED + part * 10_000, 30_000)
    totals.update(counts)
    assert counts["requests"] >= 30_000
    check_that_all_happened(counts)
