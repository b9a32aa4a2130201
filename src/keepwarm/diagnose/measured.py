"""What simulation and recorded figures say of each request, before any cause is named."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from keepwarm.cache.holders import SharedPrefix
from keepwarm.cache.prefix_tree import PrefixTree
from keepwarm.diagnose.traffic import Traffic
from keepwarm.trace.catalog import Row
from keepwarm.trace.columns import Made

_NOISE_SHARE = 0.15  # of a hit that two ways of counting tokens may differ by
_NOISE_BLOCKS = 2  # the ends of two counts, each rounded to a block
_TTL_MIN_S = 60.0  # times to live are minutes: shorter gaps are ordinary turns
_TTL_UNSEEN_MIN_S = 240.0  # taken without a prefix that was used in time and hit
_EXPLAINS = 0.35  # of what is missing may stay unexplained
_HOLDS = 0.8  # of prefixes used within the time to live have to hit
_TTL_CANDIDATES = 256


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens per request, in catalog order.

    ``hit`` is simulated at the given capacity, ``hit_unbounded`` without one. ``shortfall`` is what
    the recorded ``cached_tokens`` stay below ``hit``, 0 where nothing is recorded or the difference
    may come from another way of counting tokens.
    """

    prompt: Sequence[int]
    hit: Sequence[int]
    hit_unbounded: Sequence[int]
    shortfall: Sequence[int]
    shared: Sequence[SharedPrefix]
    expired: frozenset[int]  # rows whose shortfall a time to live explains
    ttl_s: float | None
    block_size: int


def measure(traffic: Traffic, ttl_s: float | None = None) -> Measured:
    """Replay the trace and compare it with what the server recorded."""
    hit = array("q", (row.hit_tokens for row in traffic.replay()))
    unbounded = hit
    if traffic.capacity_blocks is not None:
        unbounded = array("q", (row.hit_tokens for row in traffic.replay(unbounded=True)))
    prompt = traffic.prompt_tokens
    shortfall = array(
        "q",
        (
            _shortfall(row, tokens, prompt_tokens, traffic.block_size)
            for row, tokens, prompt_tokens in zip(traffic.catalog.rows, hit, prompt, strict=True)
        ),
    )
    fit = _time_to_live(traffic, hit, shortfall, ttl_s) if any(shortfall) else None
    late = {} if fit is None else fit.late
    for index, missing in late.items():
        shortfall[index] = missing
    return Measured(
        prompt=prompt,
        hit=hit,
        hit_unbounded=unbounded,
        shortfall=shortfall,
        shared=_kept(traffic.shared_prefixes()),
        expired=frozenset(late),
        ttl_s=None if fit is None else fit.ttl_s,
        block_size=traffic.block_size,
    )


def _kept(prefixes: Iterator[SharedPrefix]) -> Sequence[SharedPrefix]:
    holders, blocks = array("q"), array("q")
    for prefix in prefixes:
        holders.append(prefix.request_index)
        blocks.append(prefix.blocks)
    return Made(len(holders), lambda index: SharedPrefix(holders[index], blocks[index]))


def recorded_hit(row: Row, prompt_tokens: int) -> int | None:
    """``cached_tokens`` in our own tokens: scaled by the two counts of the prompt."""
    cached, counted = row.usage.cached_tokens, row.usage.prompt_tokens
    if cached is None:
        return None
    if not counted:
        return cached
    return round(cached * prompt_tokens / counted)


def _shortfall(row: Row, hit: int, prompt_tokens: int, block_size: int) -> int:
    recorded = recorded_hit(row, prompt_tokens)
    if recorded is None:
        return 0
    missing = hit - recorded
    return missing if missing > _noise(hit, prompt_tokens, block_size) else 0


def _noise(hit: int, prompt_tokens: int, block_size: int) -> float:
    """What a hit may differ by because the server counts in other tokens than we do.

    The two counts of a prompt are used to convert. If the other tokenizer is twice as dense in the
    part that missed as in the part that hit, the converted hit is off by the second term.
    """
    missed = prompt_tokens - hit
    uneven = missed / max(1, hit + 2 * missed)
    return max(_NOISE_BLOCKS * block_size, (_NOISE_SHARE + uneven) * hit)


class _Fit(NamedTuple):
    """A time to live, and the missing tokens of each row that came too late for it."""

    ttl_s: float
    late: dict[int, int]


class _Timed(NamedTuple):
    """A row with recorded hits: its tokens, and how long its blocks were unused, at most, up to each.

    That is the same for a run of blocks: ``longest_s`` of those up to ``ends``.
    """

    row_index: int
    hit: int
    recorded: int
    noise: float
    ends: npt.NDArray[np.int64]
    longest_s: npt.NDArray[np.float64]

    def expected(self, limit_s: float, block_size: int) -> int:
        """The hit if blocks unused for longer than ``limit_s`` are gone."""
        runs = int(np.searchsorted(self.longest_s, limit_s, side="right"))
        alive = int(self.ends[runs - 1]) if runs else 0
        return min(self.hit, alive * block_size)

    def error(self, expected: int) -> float:
        """How far the record is from ``expected``, beyond what counting in other tokens explains."""
        return max(0.0, abs(expected - min(self.recorded, self.hit)) - self.noise / 2)


def _time_to_live(
    traffic: Traffic, hit: Sequence[int], shortfall: Sequence[int], known_s: float | None
) -> _Fit | None:
    """The time to live that explains the recorded hits; ``known_s`` if the user gave it.

    A block is taken as gone when its last use lies further back than the time to live. The best
    value among the observed gaps has to leave little of what is missing unexplained, and prefixes
    used within it have to hit.
    """
    timed = _timed(traffic, hit)
    missing = sum(row.error(row.hit) for row in timed)
    candidates = [known_s] if known_s is not None else _candidates(timed)
    if not timed or not candidates:
        return None
    block_size = traffic.block_size
    errors = [sum(row.error(row.expected(limit_s, block_size)) for row in timed) for limit_s in candidates]
    best = min(range(len(candidates)), key=lambda i: errors[i])
    if known_s is None and errors[best] > _EXPLAINS * missing:
        return None
    return _accepted(timed, candidates[best], shortfall, block_size, known=known_s is not None)


def _accepted(
    timed: Sequence[_Timed], limit_s: float, shortfall: Sequence[int], block_size: int, *, known: bool
) -> _Fit | None:
    """The rows that ``limit_s`` explains, unless prefixes used within it speak against it."""
    in_time = [row for row in timed if row.hit and row.longest_s[-1] <= limit_s]
    if not known and in_time:
        held = sum(1 for row in in_time if not shortfall[row.row_index])
        if held < _HOLDS * len(in_time):
            return None
    if not known and not in_time and limit_s < _TTL_UNSEEN_MIN_S:
        return None
    late = {}
    for row in timed:
        missing = row.hit - row.recorded
        # Where the time to live says what is missing, it need not stand out from the noise.
        is_foretold = (
            row.error(row.expected(limit_s, block_size)) == 0 and missing > _NOISE_BLOCKS * block_size
        )
        if row.longest_s[-1] > limit_s and (shortfall[row.row_index] or is_foretold):
            late[row.row_index] = missing
    return _Fit(limit_s, late) if late else None


def _timed(traffic: Traffic, hit: Sequence[int]) -> list[_Timed]:
    out = []
    for row, ends, gaps_s in _gaps(traffic):
        prompt_tokens = traffic.prompt_tokens[row.index]
        recorded = recorded_hit(row, prompt_tokens)
        if recorded is not None and len(gaps_s):
            noise = _noise(hit[row.index], prompt_tokens, traffic.block_size)
            out.append(
                _Timed(row.index, hit[row.index], recorded, noise, ends, np.maximum.accumulate(gaps_s))
            )
    return out


def _candidates(timed: Sequence[_Timed]) -> list[float]:
    """Observed gaps of a minute and more, thinned out: limits between which rows change sides."""
    seen = np.unique(np.concatenate([row.longest_s for row in timed])) if timed else np.empty(0)
    limits = [_TTL_MIN_S, *(float(gap) for gap in seen if gap >= _TTL_MIN_S)]
    return limits[:: -(-len(limits) // _TTL_CANDIDATES)]


def _gaps(traffic: Traffic) -> Iterator[tuple[Row, npt.NDArray[np.int64], npt.NDArray[np.float64]]]:
    """Each timed row with the runs of its shared prefix: their ends, and seconds since their last use."""
    blocks = traffic.blocks()
    tree = PrefixTree(blocks.__getitem__)
    times_s = array("d", [0.0]) * len(blocks)
    for row in traffic.catalog.rows:
        if row.time_s is None:
            continue
        times_s[row.index] = row.time_s
        runs = tree.add(row.index, blocks[row.index])
        sample = traffic.sample
        if sample is not None and runs and not sample.knows_last_use(row.index, runs[-1].request_index):
            continue
        ends = np.array([run.end for run in runs], dtype=np.int64)
        yield row, ends, np.array([row.time_s - times_s[run.request_index] for run in runs])
