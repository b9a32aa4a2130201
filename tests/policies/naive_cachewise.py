"""The rule of CacheWise, written down once more without a heap: everything is sorted for every victim."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from keepwarm.policies import session_groups
from keepwarm.policies.base import BlockId, CachedBlock
from keepwarm.policies.sessions import ReuseRank, SessionId, SessionRanks, SessionVictimOrder, Tier

UNKNOWN = ReuseRank(Tier.TOOL, 0.0)
BEFORE_ALL_THAT_COME_BACK = ReuseRank(Tier.TOOL, math.inf)
BEHIND_ALL = (-1, 0.0)


class Owners(NamedTuple):
    sessions: tuple[SessionId, ...]
    more: bool = False


class Naive(SessionVictimOrder):
    name = "naive-cachewise"

    def __init__(self, capacity_blocks: int, ranks: SessionRanks) -> None:
        super().__init__(capacity_blocks, ranks)
        self.session = SessionId("")
        self.steps = 0
        self.owners: dict[BlockId, Owners] = {}
        self.free: list[CachedBlock] = []  # in the order of release
        self.known: dict[Owners, tuple[float, float]] = {}  # ranks as read, of owners of free blocks

    def serve(self, session: SessionId) -> None:
        self.session = session

    def begin_step(self) -> None:
        self.steps += 1

    def reconsider(self, session: SessionId) -> None:
        self.known.pop(Owners((session,)), None)

    def on_cache(self, block: CachedBlock) -> None:
        self.owners[block.id] = Owners((self.session,))

    def on_hit(self, block: CachedBlock, *, was_free: bool) -> None:
        if was_free:
            if block.id not in self:
                raise KeyError(block.id)
            self.free = [each for each in self.free if each.id != block.id]
            self.forget_ranks()
        sessions, more = self.owners.get(block.id, Owners(()))
        if self.session not in sessions:
            most, joined = session_groups.MOST_OWNERS, (*sessions, self.session)
            self.owners[block.id] = Owners(joined[-most:], more or len(joined) > most)

    def on_free(self, blocks: Sequence[CachedBlock]) -> None:
        for block in blocks:
            self.owners.setdefault(block.id, Owners((self.session,)))
        self.free += blocks

    def pop_victim(self) -> CachedBlock:
        if not self.free:
            raise LookupError("no block is held")
        if self.steps >= 3:
            self.steps = 0
            self.known.clear()
        for block in self.free:
            owners = self.owners[block.id]
            if owners not in self.known:
                self.known[owners] = self.rank_of(owners)
        victim = self.in_order()[0]
        self.free.remove(victim)
        self.forget_ranks()
        return victim

    def on_evict(self, block: CachedBlock) -> None:
        self.owners.pop(block.id, None)

    def on_reset(self) -> list[BlockId]:
        blocks = list(self)
        self.steps = 0
        self.owners.clear()
        self.free.clear()
        self.known.clear()
        return blocks

    def in_order(self) -> list[CachedBlock]:
        def last_to_come_back_first(block: CachedBlock) -> tuple[float, float]:
            owners = self.owners[block.id]
            stale = self.steps >= 3 or owners not in self.known
            tier, tau_s = self.rank_of(owners) if stale else self.known[owners]
            return -tier, -tau_s

        return sorted(self.free, key=last_to_come_back_first)  # and the one freed first, as sorting is stable

    def rank_of(self, owners: Owners) -> tuple[float, float]:
        ranks = []
        for session in owners.sessions:
            try:
                rank = self.ranks.rank(session)
            except ArithmeticError:
                rank = UNKNOWN
            ranks.append(UNKNOWN if math.isnan(rank.tau_s) else rank)
        if not owners.more:
            return min(ranks)
        gone = all(rank.tier == Tier.FINISHED for rank in ranks)
        return BEFORE_ALL_THAT_COME_BACK if gone else BEHIND_ALL

    def forget_ranks(self) -> None:
        """Of owners that have no free block any more."""
        there = {self.owners[each.id] for each in self.free}
        self.known = {owners: rank for owners, rank in self.known.items() if owners in there}

    def __contains__(self, block_id: object) -> bool:
        return any(each.id == block_id for each in self.free)

    def __iter__(self) -> Iterator[BlockId]:
        return iter([block.id for block in self.in_order()])

    def __len__(self) -> int:
        return len(self.free)
