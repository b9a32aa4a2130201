"""How much slower one run is than another, request by request, and how sure that is.

Both runs send the same requests in the same order, so times are paired. The estimate is Hodges and
Lehmann's: the median of all pairwise means of the log-ratios. Its interval inverts Wilcoxon's signed-rank
test with the exact distribution, so nothing is drawn at random and the same times give the same interval.
Source: Hollander, Wolfe, Chicken, Nonparametric Statistical Methods, 3rd ed., sections 3.1 to 3.3.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt

CONFIDENCE = 0.95
_MOST_PAIRS = 1000  # more are thinned evenly: the work grows with the cube


class Ratio(msgspec.Struct, frozen=True, kw_only=True):
    """A ratio of paired times with its interval; without bounds where there are too few pairs for any."""

    pairs: int
    ratio: float
    low: float | None
    high: float | None
    confidence: float = CONFIDENCE

    def beyond(self, budget: float) -> bool:
        """The whole interval lies above ``budget``."""
        return self.low is not None and self.low > budget

    def within(self, budget: float) -> bool:
        """The whole interval lies at or below ``budget``."""
        return self.high is not None and self.high <= budget


def paired_ratio(candidate: Sequence[float | None], baseline: Sequence[float | None]) -> Ratio | None:
    """``candidate / baseline`` of times in one unit; a pair with a None or a zero is left out.

    None if no pair is left.
    """
    pairs = [(c, b) for c, b in zip(candidate, baseline, strict=False) if c and b and c > 0 and b > 0]
    if not pairs:
        return None
    logs = np.log(np.array([c / b for c, b in pairs]))
    if len(logs) > _MOST_PAIRS:
        logs = logs[np.linspace(0, len(logs) - 1, _MOST_PAIRS).round().astype(np.int64)]
    means = walsh_means(logs)
    rank = signed_rank_bound(len(logs))
    low, high = (None, None) if rank == 0 else (float(means[rank - 1]), float(means[-rank]))
    return Ratio(
        pairs=len(logs),
        ratio=math.exp(float(np.median(means))),
        low=None if low is None else math.exp(low),
        high=None if high is None else math.exp(high),
    )


def walsh_means(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The n(n+1)/2 means of each value with itself and every later one, sorted."""
    first, second = np.triu_indices(len(values))
    return np.sort((values[first] + values[second]) / 2)


def signed_rank_bound(pairs: int, confidence: float = CONFIDENCE) -> int:
    """Which mean from either end bounds the interval, counted from 1; 0 if there are too few pairs."""
    ranks = np.zeros(pairs * (pairs + 1) // 2 + 1)
    ranks[0] = 1.0
    for rank in range(1, pairs + 1):
        ranks[rank:] = (ranks[rank:] + ranks[: len(ranks) - rank]) / 2
        ranks[:rank] /= 2
    return int(np.searchsorted(np.cumsum(ranks), (1 - confidence) / 2, side="right"))
