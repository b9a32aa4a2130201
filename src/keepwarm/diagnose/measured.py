"""What simulation and recorded figures say of each request, before any cause is named."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from keepwarm.cache.replay import SharedPrefix
from keepwarm.diagnose.traffic import Traffic
from keepwarm.trace.catalog import Row

_NOISE_SHARE = 0.3
_NOISE_BLOCKS = 2
_TTL_MIN_S = 60.0
_TTL_UNSEEN_MIN_S = 240.0
_EXPLAINS = 0.35
_HOLDS = 0.8
_TTL_CANDIDATES = 64


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens per request, in catalog order.

    ``hit`` is simulated at the given capacity, ``hit_unbounded`` without one. ``shortfall`` is what
    the recorded ``cached_tokens`` stay below ``hit``, 0 where nothing is recorded or the difference
    may come from another way of counting tokens.
    """

    prompt: tuple[int, ...]
    hit: tuple[int, ...]
    hit_unbounded: tuple[int, ...]
    shortfall: tuple[int, ...]
    shared: tuple[SharedPrefix, ...]
    expired: frozenset[int]  # rows whose shortfall a time to live explains
    ttl_s: float | None
    block_size: int
    total_prompt: int


def measure(traffic: Traffic, ttl_s: float | None = None) -> Measured:
    """Replay the trace and compare it with what the server recorded."""
    bounded = traffic.replay()
    unbounded = bounded if traffic.capacity_blocks is None else traffic.replay(unbounded=True)
    hit = tuple(row.hit_tokens for row in bounded)
    shortfall = tuple(
        _shortfall(row, tokens, encoded.prompt_tokens, traffic.block_size)
        for row, tokens, encoded in zip(traffic.catalog.rows, hit, traffic.encoded, strict=True)
    )
    fitted = _time_to_live(traffic, hit, shortfall, ttl_s) if any(shortfall) else None
    prompt = tuple(encoded.prompt_tokens for encoded in traffic.encoded)
    return Measured(
        prompt=prompt,
        hit=hit,
        hit_unbounded=tuple(row.hit_tokens for row in unbounded),
        shortfall=shortfall,
        shared=tuple(traffic.shared_prefixes()),
        expired=frozenset() if fitted is None else fitted[1],
        ttl_s=None if fitted is None else fitted[0],
        block_size=traffic.block_size,
        total_prompt=sum(prompt),
    )


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
    return missing if missing > max(_NOISE_BLOCKS * block_size, _NOISE_SHARE * hit) else 0


def _time_to_live(
    traffic: Traffic, hit: Sequence[int], shortfall: Sequence[int], known_s: float | None
) -> tuple[float, frozenset[int]] | None:
    """The time to live that explains the recorded hits, and the rows it explains.

    A block is taken as gone when its last use lies further back than the time to live. The best
    value among the observed gaps has to leave little of the shortfall unexplained, and prefixes
    used within it have to hit.
    """
    gaps = _gaps(traffic)
    rows = [
        i for i, row in enumerate(traffic.catalog.rows) if row.usage.cached_tokens is not None and i in gaps
    ]
    if not rows:
        return None
    recorded = {i: recorded_hit(traffic.catalog.rows[i], traffic.encoded[i].prompt_tokens) or 0 for i in rows}
    unexplained = sum(shortfall[i] for i in rows)
    candidates = [known_s] if known_s is not None else _candidates(gaps, rows)
    best_s, best_error = None, float("inf")
    for limit_s in candidates:
        error = sum(_error(gaps[i], limit_s, hit[i], recorded[i], traffic.block_size) for i in rows)
        if error < best_error:
            best_s, best_error = limit_s, error
    if best_s is None or (known_s is None and best_error > _EXPLAINS * unexplained):
        return None
    return _accepted(gaps, rows, best_s, hit, shortfall, known=known_s is not None)


def _accepted(
    gaps: dict[int, np.ndarray],
    rows: Sequence[int],
    limit_s: float,
    hit: Sequence[int],
    shortfall: Sequence[int],
    *,
    known: bool,
) -> tuple[float, frozenset[int]] | None:
    late = frozenset(i for i in rows if shortfall[i] and len(gaps[i]) and gaps[i].max() > limit_s)
    in_time = [i for i in rows if len(gaps[i]) and gaps[i].max() <= limit_s and hit[i]]
    if not known and in_time:
        held = sum(1 for i in in_time if not shortfall[i])
        if held < _HOLDS * len(in_time):
            return None
    if not known and not in_time and limit_s < _TTL_UNSEEN_MIN_S:
        return None
    return (limit_s, late) if late else None


def _candidates(gaps: dict[int, np.ndarray], rows: Sequence[int]) -> list[float]:
    """Observed gaps of a minute and more, thinned out: limits between which rows change sides."""
    seen = sorted({float(gaps[i].max()) for i in rows if len(gaps[i])})
    limits = [_TTL_MIN_S] + [gap for gap in seen if gap >= _TTL_MIN_S]
    step = max(1, len(limits) // _TTL_CANDIDATES)
    return limits[::step]


def _error(gaps: np.ndarray, limit_s: float, hit: int, recorded: int, block_size: int) -> float:
    alive = int(np.argmax(gaps > limit_s)) if (gaps > limit_s).any() else len(gaps)
    return abs(min(hit, alive * block_size) - min(recorded, hit))


def _gaps(traffic: Traffic) -> dict[int, np.ndarray]:
    """Per timed row, seconds since the last use of each block of its shared prefix."""
    blocks = [encoded.blocks for encoded in traffic.encoded]
    if not blocks:
        return {}
    _, ids = np.unique(np.concatenate(blocks), return_inverse=True)
    last_s = np.full(int(ids.max()) + 1 if len(ids) else 0, -np.inf)
    gaps: dict[int, np.ndarray] = {}
    at = 0
    for row, own in zip(traffic.catalog.rows, blocks, strict=True):
        mine = ids[at : at + len(own)]
        at += len(own)
        if row.time_s is None:
            continue
        since = row.time_s - last_s[mine]
        known = int(np.argmax(np.isinf(since))) if np.isinf(since).any() else len(since)
        gaps[row.index] = since[:known]
        last_s[mine] = row.time_s
    return gaps
