"""The working set of a run over time: what live sessions want cached, in a bounded number of points."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from keepwarm.policies.base import BlockHash
from keepwarm.serving.timeline import WorkingSet

MOST_POINTS = 2_000


class Point(NamedTuple):
    """The state at one moment; see ``WorkingSet``."""

    at_s: float
    wanted_blocks: int
    cached_blocks: int
    waiting: int
    running: int


class WantedBlocks:
    """The contexts of live sessions; ``holders`` says how many want each block."""

    def __init__(self) -> None:
        self.holders: dict[BlockHash, int] = {}
        self._contexts: dict[int, tuple[Sequence[BlockHash], int]] = {}  # the first so many of these blocks

    def __len__(self) -> int:
        return len(self.holders)

    def begin(self, session: int, blocks: Sequence[BlockHash], full_blocks: int) -> None:
        """A request takes the place of the session's one before. Mutates."""
        before, end = self._contexts.get(session, ((), 0))
        both = zip(before[:end], blocks[:full_blocks], strict=False)
        shared = next((place for place, (old, new) in enumerate(both) if old != new), min(end, full_blocks))
        self._release(before[shared:end])
        self._hold(blocks[shared:full_blocks])
        self._contexts[session] = blocks, full_blocks

    def grow(self, session: int, full_blocks: int) -> None:
        """So many blocks of its request are full: beyond its prompt, those of the answer. Mutates."""
        blocks, end = self._contexts[session]
        if full_blocks > end:
            self._hold(blocks[end:full_blocks])
            self._contexts[session] = blocks, full_blocks

    def end(self, session: int) -> None:
        """It wants nothing any more. Mutates."""
        blocks, end = self._contexts.pop(session)
        self._release(blocks[:end])

    def _hold(self, hashes: Iterable[BlockHash]) -> None:
        holders = self.holders
        for block_hash in hashes:
            holders[block_hash] = holders.get(block_hash, 0) + 1

    def _release(self, hashes: Iterable[BlockHash]) -> None:
        holders = self.holders
        for block_hash in hashes:
            left = holders[block_hash] - 1
            if left:
                holders[block_hash] = left
            else:
                del holders[block_hash]


def working_set(points: Sequence[Point], block_size: int, most_points: int = MOST_POINTS) -> WorkingSet:
    """``points`` in the order of time, thinned."""
    kept = thinned(points, most_points)
    return WorkingSet(
        at_s=[point.at_s for point in kept],
        wanted_tokens=[point.wanted_blocks * block_size for point in kept],
        cached_tokens=[point.cached_blocks * block_size for point in kept],
        waiting=[point.waiting for point in kept],
        running=[point.running for point in kept],
    )


def thinned(points: Sequence[Point], most_points: int) -> Sequence[Point]:
    """At most so many of them: the first and the last, and the extremes of equal stretches of time.

    As many stretches as there is room for, so each has the lowest and the highest of every figure.
    """
    if len(points) <= most_points:
        return points
    least, most = 1, most_points
    while least < most:
        stretches = (least + most + 1) // 2
        if len(_extremes(points, stretches)) <= most_points:
            least = stretches
        else:
            most = stretches - 1
    return [points[place] for place in sorted(_extremes(points, least))]


def _extremes(points: Sequence[Point], stretches: int) -> set[int]:
    start_s, end_s = points[0].at_s, points[-1].at_s
    scale = stretches / (end_s - start_s) if end_s > start_s else 0.0
    kept = {0, len(points) - 1}
    begin = 0
    while begin < len(points):
        stretch = int((points[begin].at_s - start_s) * scale)
        end = begin + 1
        while end < len(points) and int((points[end].at_s - start_s) * scale) == stretch:
            end += 1
        places = range(begin, end)
        for figure in range(1, len(Point._fields)):
            kept.add(min(places, key=lambda place, of=figure: points[place][of]))  # type: ignore[misc]
            kept.add(max(places, key=lambda place, of=figure: points[place][of]))  # type: ignore[misc]
        begin = end
    return kept
