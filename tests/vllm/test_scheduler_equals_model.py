"""One order, three places: inside vLLM's scheduler it admits whom the model of the server admits."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.vllm.ordered import play

SEEDS = range(24)


@pytest.mark.parametrize("order", ["cachewise", "active-set"])
@pytest.mark.parametrize("seed", SEEDS)
def test_streams(seed: int, order: str, totals: Counter[str]) -> None:
    both = play(seed, 60, order)
    totals.update(both.counts)
    assert both.real.faults() == {}
    assert both.counts["finished"] + both.counts["aborts"] == both.counts["requests"]


@pytest.mark.parametrize("order", ["cachewise", "active-set"])
def test_streams_with_preemptions(order: str, totals: Counter[str]) -> None:
    counts: Counter[str] = Counter()
    for seed in range(100, 107):
        both = play(seed, 40, order, long_answers=True)
        counts.update(both.counts)
        assert both.real.faults() == {}
    totals.update(counts)
    assert counts["preemptions"] > 50
