"""Replay a trace under each policy at each capacity, several at a time, and make a row of each."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from keepwarm.cache.bounded import Bounded, stopping
from keepwarm.cache.ceiling import rate
from keepwarm.cache.kernels import KernelRun
from keepwarm.cache.kv_events import KvEventCounts
from keepwarm.cache.load import LoadedTrace
from keepwarm.cache.model import CacheModel
from keepwarm.cache.recorded import compare_events, compare_hits
from keepwarm.cache.simulation import (
    EventResidual,
    HitResidual,
    ReuseAfterEviction,
    ReuseHistogram,
    SimulationRow,
    WorstRequest,
)


class Cell(NamedTuple):
    """One row to compute."""

    policy: str
    capacity_blocks: int


class RowMaker(NamedTuple):
    """What all rows have in common. ``kv_gib`` tells the memory of a capacity, where the model is known."""

    loaded: LoadedTrace
    ignore_output: bool
    match_unit_blocks: int
    kv_gib: Callable[[int], float] | None = None
    kv_events: KvEventCounts | None = None
    bounded: Bounded | None = None

    @property
    def model(self) -> CacheModel:
        """What every replay has in common."""
        return CacheModel(self.loaded.dense, self.ignore_output, self.match_unit_blocks, self.bounded)

    def rows(self, cells: Sequence[Cell], threads: int | None) -> Iterator[SimulationRow]:
        """Rows in the order of ``cells``, whichever thread is done first; as many threads as cores if None.

        Raises:
            InputError: the recorded events are of another block size.
        """
        workers = min(threads or len(os.sched_getaffinity(0)), len(cells))
        with ThreadPoolExecutor(max_workers=workers) as pool, stopping(self.bounded):
            yield from pool.map(self.row, cells)

    def row(self, cell: Cell) -> SimulationRow:
        """One row. Raises InputError: the recorded events are of another block size."""
        if self.bounded is None:
            return self._computed(cell)
        kv_gib = None if self.kv_gib is None else self.kv_gib(cell.capacity_blocks)
        decided = ("row", cell, self.ignore_output, self.match_unit_blocks, kv_gib, self.kv_events)
        return self.bounded.once(decided, lambda: self._computed(cell), SimulationRow)

    def _computed(self, cell: Cell) -> SimulationRow:
        trace = self.loaded.dense
        done = self.model.replay(cell.policy, cell.capacity_blocks)
        query_tokens = trace.query_tokens
        hit_tokens = int(done.hit_blocks.sum()) * trace.block_size
        tokens = trace.computed_tokens(ignore_output=self.ignore_output)
        return SimulationRow(
            policy=cell.policy,
            capacity_blocks=cell.capacity_blocks,
            requests=trace.requests,
            query_tokens=query_tokens,
            hit_tokens=hit_tokens,
            hit_rate=rate(hit_tokens, query_tokens),
            evicted_blocks=int(done.evicted_blocks.sum()),
            evicted_then_requested_blocks=int(done.requested_again_blocks.sum()),
            reuse_after_eviction=_reuse(done),
            cut_answers=int((tokens > cell.capacity_blocks * trace.block_size).sum()),
            reuse_after_eviction_histogram=_histogram(done),
            kv_gib=None if self.kv_gib is None else self.kv_gib(cell.capacity_blocks),
            recorded_hits=self._recorded_hits(done),
            recorded_events=self._recorded_events(done, cell.capacity_blocks),
        )

    def _recorded_hits(self, done: KernelRun) -> HitResidual | None:
        trace = self.loaded.dense
        compared = compare_hits(trace.cached_tokens, done.hit_blocks.astype(np.int64) * trace.block_size)
        if not compared.requests:
            return None
        return HitResidual(
            requests=compared.requests,
            query_tokens=int(trace.prompt_tokens[trace.cached_tokens >= 0].sum()),
            recorded_tokens=compared.recorded_tokens,
            simulated_tokens=compared.simulated_tokens,
            residual_tokens=compared.residual_tokens,
            equal_requests=compared.equal_requests,
            worst=tuple(
                WorstRequest(
                    line=int(self.loaded.lines[each.request_index]),
                    recorded_tokens=each.recorded_tokens,
                    simulated_tokens=each.simulated_tokens,
                )
                for each in compared.worst
            ),
        )

    def _recorded_events(self, done: KernelRun, capacity_blocks: int) -> EventResidual | None:
        if self.kv_events is None:
            return None
        trace = self.loaded.dense
        full_blocks = trace.computed_tokens(ignore_output=self.ignore_output) // trace.block_size
        stored = int((np.minimum(full_blocks, capacity_blocks) - done.hit_blocks).sum())
        evicted = int(done.evicted_blocks.sum())
        compared = compare_events(
            self.kv_events, stored_blocks=stored, evicted_blocks=evicted, block_size=trace.block_size
        )
        return EventResidual(
            simulated_stored_blocks=stored,
            simulated_evicted_blocks=evicted,
            stored_residual_blocks=compared.stored_residual_blocks,
            evicted_residual_blocks=compared.evicted_residual_blocks,
        )


def _reuse(done: KernelRun) -> ReuseAfterEviction | None:
    counts = np.cumsum(done.reuse_gaps_log2)
    if not counts[-1]:
        return None
    p50, p90, p99 = (
        (2 << int(np.searchsorted(counts, share * counts[-1]))) - 1 for share in (0.5, 0.9, 0.99)
    )
    return ReuseAfterEviction(p50_blocks=p50, p90_blocks=p90, p99_blocks=p99)


def _histogram(done: KernelRun) -> ReuseHistogram | None:
    bins = np.trim_zeros(done.reuse_gaps_log2, "b").tolist()
    if not bins:
        return None
    return ReuseHistogram(up_to_blocks=tuple((2 << g) - 1 for g in range(len(bins))), blocks=tuple(bins))
