"""From a trace file to the table: load, check what was asked for, replay each policy at each capacity."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from keepwarm._errors import InputError
from keepwarm._progress import Progress, Silent
from keepwarm.cache.ceiling import unbounded_hit_blocks
from keepwarm.cache.dense import DenseTrace
from keepwarm.cache.kernels import KernelRun, kernel_policies, run_kernel
from keepwarm.cache.load import LoadedTrace, load_trace
from keepwarm.cache.options import SimulateOptions
from keepwarm.cache.simulation import (
    CacheInfo,
    Ceiling,
    InputInfo,
    ReuseAfterEviction,
    Simulation,
    SimulationRow,
)
from keepwarm.cache.store import TraceStore, store_folder

DEFAULT_POLICIES = ("lru", "computecache", "belady")


class _Cell(NamedTuple):
    """One row to compute."""

    policy: str
    capacity_blocks: int


def simulate_cache(
    path: str, options: SimulateOptions | None = None, progress: Progress | None = None
) -> Simulation:
    """Replay a trace through caches of several sizes and policies: who hits how much, and what is lost.

    Requests go one after another in recorded order, each finished and freed before the next. All
    figures are simulated.

    Raises:
        InputError: the trace, the template or the tokenizer cannot be used, a policy is unknown, or a
            capacity is below one request; says what and where.
    """
    options = options or SimulateOptions()
    heard = progress or Silent()
    policies = _policies(options.policies)
    _check_capacities(options.capacities_blocks)
    store = TraceStore(store_folder()) if options.store else None
    loaded = load_trace(path, options, store=store, progress=heard)
    unit_blocks = _match_unit_blocks(options.match_unit_tokens, loaded.dense.block_size)
    capacities = options.capacities_blocks or tuple(default_capacities(loaded.dense, options.ignore_output))
    _check_fit(loaded, capacities)
    cells = [_Cell(policy, capacity) for policy in policies for capacity in capacities]
    heard.stage("simulating", len(cells))
    rows = tuple(_rows(loaded.dense, cells, options, unit_blocks, heard))
    return _assemble(loaded, options, unit_blocks, rows)


def default_capacities(trace: DenseTrace, ignore_output: bool) -> Iterator[int]:
    """Powers of two, from the first that holds the largest prompt to the first that holds everything.

    "Everything" is what the trace stores at most: its distinct blocks, and full output blocks of
    unknown content.
    """
    capacity = 1 << max(0, _largest_prompt_blocks(trace) - 1).bit_length()
    known = np.diff(trace.starts)
    full = computed_tokens(trace, ignore_output) // trace.block_size
    everything = trace.distinct_blocks + int(np.maximum(full - known, 0).sum())
    yield capacity
    while capacity < everything:
        capacity *= 2
        yield capacity


def computed_tokens(trace: DenseTrace, ignore_output: bool) -> npt.NDArray[np.int64]:
    """Tokens of each request whose KV exists in the end: all but the last sampled one."""
    if ignore_output:
        return trace.prompt_tokens
    return trace.prompt_tokens + np.maximum(trace.output_tokens - 1, 0)


def _policies(names: Sequence[str]) -> tuple[str, ...]:
    known = kernel_policies()
    chosen = tuple(names) or tuple(name for name in DEFAULT_POLICIES if name in known)
    for index, name in enumerate(chosen):
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            guess = f"did you mean {near[0]}? " if near else ""
            raise InputError(f"unknown policy {name!r}; {guess}known are: {', '.join(known)}")
        if name in chosen[:index]:
            raise InputError(f"policy {name!r} is named twice; name each once")
    return chosen


def _check_capacities(capacities_blocks: Sequence[int]) -> None:
    for index, capacity in enumerate(capacities_blocks):
        if capacity < 1:
            raise InputError(f"capacity of {capacity!r} blocks is not positive; give usable blocks, say 1024")
        if capacity in capacities_blocks[:index]:
            raise InputError(f"capacity of {capacity!r} blocks is named twice; name each once")


def _match_unit_blocks(match_unit_tokens: int | None, block_size: int) -> int:
    if match_unit_tokens is None:
        return 1
    if match_unit_tokens < 1 or match_unit_tokens % block_size:
        raise InputError(
            f"match unit of {match_unit_tokens!r} tokens is no multiple of the block size {block_size}; "
            f"give {block_size}, {2 * block_size} or the like"
        )
    return match_unit_tokens // block_size


def _largest_prompt_blocks(trace: DenseTrace) -> int:
    return -(-int(trace.prompt_tokens.max()) // trace.block_size)


def _check_fit(loaded: LoadedTrace, capacities_blocks: Sequence[int]) -> None:
    """A server whose cache cannot hold one prompt would never admit it."""
    trace, smallest = loaded.dense, min(capacities_blocks)
    needed = _largest_prompt_blocks(trace)
    if smallest >= needed:
        return
    place = f"line {loaded.lines[trace.prompt_tokens.argmax()]} of {str(loaded.trace.path)!r}"
    raise InputError(
        f"capacity of {smallest} blocks is below one request: the prompt at {place} takes {needed} blocks "
        f"of {trace.block_size} tokens; give at least {needed}"
    )


def _rows(
    trace: DenseTrace, cells: Sequence[_Cell], options: SimulateOptions, unit_blocks: int, progress: Progress
) -> Iterator[SimulationRow]:
    """Rows in the order of ``cells``, whichever thread is done first."""

    def run(cell: _Cell) -> SimulationRow:
        done = run_kernel(
            trace,
            policy=cell.policy,
            capacity_blocks=cell.capacity_blocks,
            ignore_output=options.ignore_output,
            match_unit_blocks=unit_blocks,
        )
        return _row(trace, cell, done, options.ignore_output)

    threads = options.threads or len(os.sched_getaffinity(0))
    with ThreadPoolExecutor(max_workers=min(threads, len(cells))) as pool:
        for row in pool.map(run, cells):
            progress.advance()
            yield row


def _row(trace: DenseTrace, cell: _Cell, done: KernelRun, ignore_output: bool) -> SimulationRow:
    query_tokens = int(trace.prompt_tokens.sum())
    hit_tokens = int(done.hit_blocks.sum()) * trace.block_size
    blocks = -(-computed_tokens(trace, ignore_output) // trace.block_size)
    return SimulationRow(
        policy=cell.policy,
        capacity_blocks=cell.capacity_blocks,
        requests=trace.requests,
        query_tokens=query_tokens,
        hit_tokens=hit_tokens,
        hit_rate=_rate(hit_tokens, query_tokens),
        evicted_blocks=int(done.evicted_blocks.sum()),
        evicted_then_requested_blocks=int(done.requested_again_blocks.sum()),
        reuse_after_eviction=_reuse(done),
        cut_answers=int((blocks > cell.capacity_blocks).sum()),
    )


def _reuse(done: KernelRun) -> ReuseAfterEviction | None:
    counts = np.cumsum(done.reuse_gaps_log2)
    if not counts[-1]:
        return None
    p50, p90, p99 = (
        (2 << int(np.searchsorted(counts, share * counts[-1]))) - 1 for share in (0.5, 0.9, 0.99)
    )
    return ReuseAfterEviction(p50_blocks=p50, p90_blocks=p90, p99_blocks=p99)


def _rate(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _assemble(
    loaded: LoadedTrace, options: SimulateOptions, unit_blocks: int, rows: tuple[SimulationRow, ...]
) -> Simulation:
    file, trace = loaded.trace, loaded.dense
    hit_blocks = unbounded_hit_blocks(
        trace, ignore_output=options.ignore_output, match_unit_blocks=unit_blocks
    )
    hit_tokens, query_tokens = int(hit_blocks.sum()) * trace.block_size, int(trace.prompt_tokens.sum())
    return Simulation(
        input=InputInfo(
            path=str(file.path),
            sha256=file.sha256,
            format=file.format,
            requests=trace.requests,
            models=loaded.models,
            time_merged=not file.one_clock,
            prompt_texts_known=file.prompt_texts_known,
            prompt_complete=file.prompt_complete,
            skipped=file.skipped,
        ),
        encoding=loaded.encoding,
        cache=CacheInfo(
            block_size=trace.block_size,
            match_unit_tokens=unit_blocks * trace.block_size,
            ignore_output=options.ignore_output,
            distinct_blocks=trace.distinct_blocks,
            largest_prompt_blocks=_largest_prompt_blocks(trace),
        ),
        ceiling=Ceiling(
            query_tokens=query_tokens, hit_tokens=hit_tokens, hit_rate=_rate(hit_tokens, query_tokens)
        ),
        rows=rows,
    )
