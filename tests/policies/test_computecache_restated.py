"""Both rules restated over one whole list, by brute force from their words, against the real classes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import takewhile
from math import inf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwarm.policies.base import BlockId, CachedBlock, VictimOrder
from keepwarm.policies.computecache import ComputeCache
from keepwarm.policies.computecache_window import ComputeCacheWindow
from tests.policies.streams import Server

seeds = st.integers(0, 2**32 - 1)
capacities = st.integers(2, 24)
scan_limits = st.integers(1, 8)


class _Restated(VictimOrder):
    """A plain list, and every hit of a block written down as (clock, blocks allocated)."""

    name = "restated"

    def __init__(self, capacity_blocks: int, scan_limit: int) -> None:
        super().__init__(capacity_blocks)
        self.scan_limit = scan_limit
        self.start()

    def start(self) -> None:
        self.queue: list[CachedBlock] = []
        self.hits: dict[BlockId, list[tuple[int, int]]] = defaultdict(list)
        self.cached_at: dict[BlockId, int] = {}
        self.clock = 0
        self.allocated = 0

    def keep_value(self, block: CachedBlock) -> int:
        hits = self.hits[block.id]
        since = hits[-1][0] if hits else self.cached_at[block.id]
        value = 64 * min(len(hits), 255) + min(block.depth_blocks, 4096) - min(self.clock - since, 4096)
        return value - (0 if hits else 4096)

    def lowest(self, blocks: list[CachedBlock]) -> CachedBlock:
        places = {block.id: place for place, block in enumerate(blocks)}
        return min(blocks, key=lambda block: (self.keep_value(block), places[block.id], block.id))

    def on_cache(self, block: CachedBlock) -> None:
        self.cached_at[block.id] = self.clock

    def on_hit(self, block: CachedBlock, *, was_free: bool) -> None:
        if was_free:
            self.queue.remove(block)
        self.clock += 1
        self.hits[block.id].append((self.clock, self.allocated))

    def on_free(self, blocks: Sequence[CachedBlock]) -> None:
        self.queue.extend(blocks)

    def pop_victim(self) -> CachedBlock:
        return self.queue.pop(0)

    def on_evict(self, block: CachedBlock) -> None:
        self.hits.pop(block.id, None)
        self.cached_at.pop(block.id)

    def on_reset(self) -> list[BlockId]:
        listed = list(self)
        self.start()
        return listed

    def __iter__(self) -> Iterator[BlockId]:
        return iter([block.id for block in self.queue])

    def __len__(self) -> int:
        return len(self.queue)


class _RestatedWindow(_Restated):
    def on_allocate(self, new_blocks: int, blank_blocks: int) -> None:
        """The whole free queue is the blank blocks, then the cached ones."""
        if new_blocks <= blank_blocks:
            return
        window: list[CachedBlock | None] = [*[None] * blank_blocks, *self.queue][: self.scan_limit]
        cached = [block for block in window if block is not None]
        first: list[CachedBlock] = []
        for _ in range(min(new_blocks - (len(window) - len(cached)), len(cached))):
            first.append(self.lowest([block for block in cached if block not in first]))
        self.queue = first + [block for block in self.queue if block not in first]


class _RestatedBoundary(_Restated):
    def __init__(
        self,
        capacity_blocks: int,
        scan_limit: int,
        protected_share: float,
        stale_turnovers: float,
        least_stale_blocks: int,
        extra_demotions: int,
    ) -> None:
        super().__init__(capacity_blocks, scan_limit)
        self.extra_demotions = extra_demotions
        self.most_protected = protected_share * capacity_blocks
        self.turnover_blocks = stale_turnovers * capacity_blocks
        self.least_stale_blocks = least_stale_blocks
        self.seen: list[tuple[list[BlockId], int]] = []

    def start(self) -> None:
        super().start()
        self.boundary = 0

    def on_free(self, blocks: Sequence[CachedBlock]) -> None:
        for block in blocks:
            if self.hits[block.id]:
                self.queue.append(block)
            else:
                self.queue.insert(self.boundary, block)
                self.boundary += 1

    def on_hit(self, block: CachedBlock, *, was_free: bool) -> None:
        if was_free and self.queue.index(block) < self.boundary:
            self.boundary -= 1
        super().on_hit(block, was_free=was_free)

    def pop_victim(self) -> CachedBlock:
        self.boundary = max(0, self.boundary - 1)
        return super().pop_victim()

    def on_allocate(self, new_blocks: int, blank_blocks: int) -> None:
        self.allocated += new_blocks
        most = new_blocks + self.extra_demotions
        stale = list(takewhile(self.is_stale, self.queue[self.boundary :]))[:most]
        self.boundary += len(stale)
        for _ in range(most - len(stale)):
            protected = self.queue[self.boundary :]
            if len(protected) <= self.most_protected:
                break
            demoted = self.lowest(protected[: self.scan_limit])
            self.queue.remove(demoted)
            self.queue.insert(self.boundary, demoted)
            self.boundary += 1
        self.seen.append((list(self), self.boundary))

    def is_stale(self, block: CachedBlock) -> bool:
        _, allocated_at_hit = self.hits[block.id][-1]
        since = self.allocated - allocated_at_hit
        return since >= self.turnover_blocks and since >= self.least_stale_blocks


class _SeenBoundary(ComputeCache):
    """Writes down, as ``_RestatedBoundary`` does, the order and the boundary before the victims are taken."""

    def __init__(self, capacity_blocks: int, **parameters: Any) -> None:
        super().__init__(capacity_blocks, **parameters)
        self.seen: list[tuple[list[BlockId], int]] = []

    def on_allocate(self, new_blocks: int, blank_blocks: int) -> None:
        super().on_allocate(new_blocks, blank_blocks)
        listed = list(self)
        first = self.first_protected
        self.seen.append((listed, len(listed) if first is None else listed.index(first.id)))


@given(seed=seeds, capacity_blocks=capacities, scan_limit=scan_limits)
def test_the_window(seed: int, capacity_blocks: int, scan_limit: int) -> None:
    policy = ComputeCacheWindow(capacity_blocks, scan_limit=scan_limit)
    assert Server(policy).run(seed) == Server(_RestatedWindow(capacity_blocks, scan_limit)).run(seed)


@given(
    seed=seeds,
    capacity_blocks=capacities,
    scan_limit=scan_limits,
    protected_share=st.sampled_from([0.0, 0.25, 0.5, 1.0]),
    stale_turnovers=st.sampled_from([0.5, 1.0, 3.0, inf]),
    least_stale_blocks=st.sampled_from([0, 8, 40]),
    extra_demotions=st.sampled_from([0, 1, 3, 64]),
)
def test_the_boundary(
    seed: int,
    capacity_blocks: int,
    scan_limit: int,
    protected_share: float,
    stale_turnovers: float,
    least_stale_blocks: int,
    extra_demotions: int,
) -> None:
    policy = _SeenBoundary(
        capacity_blocks,
        protected_share=protected_share,
        stale_turnovers=stale_turnovers,
        least_stale_blocks=least_stale_blocks,
        scan_limit=scan_limit,
        extra_demotions=extra_demotions,
    )
    restated = _RestatedBoundary(
        capacity_blocks, scan_limit, protected_share, stale_turnovers, least_stale_blocks, extra_demotions
    )
    assert Server(policy).run(seed) == Server(restated).run(seed)
    assert policy.seen == restated.seen


@pytest.mark.parametrize("capacity_blocks", [2, 24])
def test_the_streams_reach_both_parts(capacity_blocks: int) -> None:
    """The properties above would be empty if no block were ever hit, demoted and evicted."""
    demoted: list[CachedBlock] = []

    class Watched(ComputeCache):
        def demote(self, block: CachedBlock) -> None:
            demoted.append(block)
            super().demote(block)

    evicted = 0
    for seed in range(20):
        policy = Watched(capacity_blocks, protected_share=0.1, stale_turnovers=1.0, least_stale_blocks=0)
        journal = Server(policy).run(seed)
        evicted += sum(len(served.evicted) for served in journal)
    assert demoted
    assert evicted
