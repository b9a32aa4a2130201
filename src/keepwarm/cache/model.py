"""A cache and a trace: what is held fixed while policies and capacities vary."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import NamedTuple

import numpy as np

from keepwarm._errors import InputError
from keepwarm.cache.bounded import Bounded
from keepwarm.cache.ceiling import Ceiling, ample_blocks, rate, unbounded_hit_blocks
from keepwarm.cache.dense import DenseTrace
from keepwarm.cache.kernels import KernelRun, extent_of, replay_bytes, run_kernel

DEFAULT_POINTS = 32


class CacheModel(NamedTuple):
    """What is held fixed while policies and capacities vary."""

    trace: DenseTrace
    ignore_output: bool = False
    match_unit_blocks: int = 1
    bounded: Bounded | None = None  # where memory is

    def replay(self, policy: str, capacity_blocks: int) -> KernelRun:
        """One whole replay, once there is room for it.

        Raises InputError: the policy is unknown, the capacity not positive, or the budget too small.
        """
        replay = partial(
            run_kernel,
            self.trace,
            policy=policy,
            capacity_blocks=capacity_blocks,
            ignore_output=self.ignore_output,
            match_unit_blocks=self.match_unit_blocks,
        )
        if self.bounded is None:
            return replay()
        what, needed_bytes = self._needed(policy, capacity_blocks)
        with self.bounded.room(what, needed_bytes):
            return replay(between=partial(self.bounded.between, self.trace.ids))

    def check_room(self, cells: Iterable[tuple[str, int]]) -> None:
        """Before anything is replayed. Raises BudgetError: one of the policies and capacities never fits."""
        if self.bounded is not None:
            for policy, capacity_blocks in cells:
                self.bounded.check(*self._needed(policy, capacity_blocks))

    def hit_blocks(self, policy: str, capacity_blocks: int) -> int:
        """Hits of a whole replay."""

        def count() -> int:
            return int(self.replay(policy, capacity_blocks).hit_blocks.sum())

        if self.bounded is None:
            return count()
        decided = ("hits", policy, capacity_blocks, self.ignore_output, self.match_unit_blocks)
        return self.bounded.once(decided, count, int)

    def _needed(self, policy: str, capacity_blocks: int) -> tuple[str, int]:
        extent = extent_of(self.trace, capacity_blocks, ignore_output=self.ignore_output)
        return f"{policy} at {capacity_blocks} blocks", replay_bytes(policy, extent)

    def capacity_grid(self) -> list[int]:
        """The usual capacities of a curve. Raises InputError: the trace has no request."""
        return capacity_grid(
            self.trace, ignore_output=self.ignore_output, match_unit_blocks=self.match_unit_blocks
        )

    def ceiling_blocks(self) -> int:
        """Hits where nothing is ever evicted."""
        hits = unbounded_hit_blocks(
            self.trace, ignore_output=self.ignore_output, match_unit_blocks=self.match_unit_blocks
        )
        return int(hits.sum())

    def ceiling(self) -> Ceiling:
        """The same in tokens, and as a share of the prompts."""
        hit_tokens, query_tokens = self.ceiling_blocks() * self.trace.block_size, self.trace.query_tokens
        return Ceiling(
            query_tokens=query_tokens, hit_tokens=hit_tokens, hit_rate=rate(hit_tokens, query_tokens)
        )


def capacity_grid(
    trace: DenseTrace,
    *,
    points: int = DEFAULT_POINTS,
    ignore_output: bool = False,
    match_unit_blocks: int = 1,
) -> list[int]:
    """Up to ``points`` capacities, evenly apart on a log scale, of which the last evicts nothing.

    The first holds the largest prompt: a server would never admit that one to a smaller cache.

    Raises:
        InputError: the trace has no request.
    """
    if not trace.requests:
        raise InputError("the trace has no request, so there is no curve; give one with requests")
    smallest = max(1, trace.largest_prompt_blocks)
    ample = ample_blocks(trace, ignore_output=ignore_output, match_unit_blocks=match_unit_blocks)
    largest = max(smallest, ample)
    return sorted({round(capacity) for capacity in np.geomspace(smallest, largest, points).tolist()})
