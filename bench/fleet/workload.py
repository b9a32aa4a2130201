"""The recorded sessions, cheap enough for 64 servers: their first requests, in larger blocks."""

from __future__ import annotations

from collections.abc import Sequence

from keepwarm.policies.base import BlockHash
from keepwarm.workload.base import Workload


def shortened(workload: Workload, requests: int, blocks_at_once: int) -> Workload:
    """The first ``requests`` of each session; ``blocks_at_once`` blocks are one, which all before it tell."""
    numbers: dict[tuple[int, tuple[BlockHash, ...]], int] = {}

    def joined(blocks: Sequence[BlockHash]) -> list[BlockHash]:
        found: list[BlockHash] = []
        before = -1
        for start in range(0, len(blocks) - blocks_at_once + 1, blocks_at_once):
            key = (before, tuple(blocks[start : start + blocks_at_once]))
            before = numbers.setdefault(key, len(numbers))
            found.append(BlockHash(before))
        return found

    sessions = [
        session._replace(
            turns=[turn._replace(blocks=joined(turn.blocks)) for turn in session.turns[:requests]]
        )
        for session in workload.sessions
    ]
    return workload._replace(block_size=workload.block_size * blocks_at_once, sessions=sessions)
