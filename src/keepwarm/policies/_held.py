"""What policies share: the check on blocks that come back, and a dry run of the victims to come."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterator, Sequence

from keepwarm.policies.base import BlockId, CachedBlock, VictimOrder


def check_not_held(blocks: Sequence[CachedBlock], held: Collection[BlockId]) -> None:
    """``ValueError`` if a block to take over is held already, or given twice. O(len(blocks))."""
    ids = [block.id for block in blocks]
    twice = sorted(filter(held.__contains__, ids))
    if twice or len(set(ids)) != len(ids):
        raise ValueError(f"blocks freed twice: {twice or blocks!r}")


def victims_to_come(policy: VictimOrder) -> Iterator[BlockId]:
    """The order in which ``policy`` would give up its blocks if nothing else happened.

    A copy gives them up. Its state must be attributes that are immutable, or containers of what is. O(state).
    """
    rehearsal = copy.copy(policy)
    vars(rehearsal).update({name: copy.copy(value) for name, value in vars(policy).items()})
    while len(rehearsal):
        yield rehearsal.pop_victim().id
