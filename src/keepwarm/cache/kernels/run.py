"""Run a kernel over a trace: arrays in, arrays out."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from keepwarm._errors import InputError, IntegrityError
from keepwarm.cache.dense import DenseTrace
from keepwarm.cache.kernels import belady, computecache, computecache_window, lfu, lru, s3fifo, sieve, slru
from keepwarm.cache.kernels.compile import compiled_replay
from keepwarm.cache.kernels.extent import extent_of
from keepwarm.cache.kernels.frame import FAULTS, Outcome
from keepwarm.cache.kernels.operations import PolicyKernel, Setup
from keepwarm.cache.kernels.pool import EVENTS, Requests, new_pool

KERNELS: dict[str, PolicyKernel] = {
    "lru": lru.KERNEL,
    "computecache-window": computecache_window.KERNEL,
    "computecache": computecache.KERNEL,
    "slru": slru.KERNEL,
    "s3fifo": s3fifo.KERNEL,
    "sieve": sieve.KERNEL,
    "lfu": lfu.KERNEL,
    "belady": belady.KERNEL,
}
_GAPS = 64


class KernelRun(NamedTuple):
    """What a replay did: arrays of one entry a request, unless said otherwise.

    ``hit_blocks`` were served from the cache, ``evicted_blocks`` hashes were removed to make room, and a
    request that is ``too_large`` was never admitted. ``requested_again_blocks`` counts blocks it asked for
    that had been cached and were evicted since; ``reuse_gaps_log2[g]`` (shape 64, over the whole trace) how
    many of those came after ``2**g`` to ``2**(g + 1) - 1`` blocks were handed out, the one that took their
    place included. ``evicted_ids``, if recorded, are the contents removed in order: dense ids, and ``-1 - k``
    for the k-th block, from 0, of unknown content.
    """

    hit_blocks: npt.NDArray[np.int32]
    evicted_blocks: npt.NDArray[np.int32]
    too_large: npt.NDArray[np.bool_]
    requested_again_blocks: npt.NDArray[np.int32]
    reuse_gaps_log2: npt.NDArray[np.int64]
    evicted_ids: npt.NDArray[np.int64] | None


def kernel_policies() -> tuple[str, ...]:
    """The names of policies that have a kernel."""
    return tuple(KERNELS)


def run_kernel(
    trace: DenseTrace,
    *,
    policy: str,
    capacity_blocks: int,
    ignore_output: bool = False,
    match_unit_blocks: int = 1,
    record_events: bool = False,
    check_integrity: bool = False,
    between: Callable[[], None] | None = None,
    **parameters: Any,
) -> KernelRun:
    """Replay a trace as ``cache.replay.replay`` does, event for event; ``parameters`` are the policy's own.

    Releases the GIL. The first call with a policy compiles its kernel, or loads it from numba's cache.
    ``check_integrity`` checks the whole structure after each request, for tests. ``between`` is called every
    few million blocks; what it raises ends the replay.

    Raises:
        InputError: unknown policy, or ``capacity_blocks`` or ``match_unit_blocks`` is not positive.
        IntegrityError: a check failed.
    """
    kernel = KERNELS.get(policy)
    if kernel is None:
        raise InputError(f"unknown policy {policy!r}; known are {', '.join(KERNELS)}")
    if capacity_blocks < 1:
        raise InputError(f"capacity of {capacity_blocks!r} blocks; give at least 1 usable block")
    if match_unit_blocks < 1:
        raise InputError(f"match unit of {match_unit_blocks!r} blocks is not positive; 1 is the usual one")
    requests = _requests_of(trace, ignore_output=ignore_output)
    extent = extent_of(trace, capacity_blocks, ignore_output=ignore_output)
    slots, table_blocks = extent.slots, extent.table_blocks
    pool = new_pool(slots, match_unit_blocks, trace.distinct_blocks, table_blocks)
    state = kernel.new_state(Setup(slots, table_blocks, trace.distinct_blocks, requests), **parameters)
    outcome = _new_outcome(trace.requests, extent.most_blocks if record_events else 0)
    replay = compiled_replay(policy, kernel, checked=check_integrity)
    held = np.zeros(slots if check_integrity else 0, dtype=np.int64)
    for first, last in pairwise(trace.pieces()):
        fault = replay(requests, pool, state, outcome, held, first, last)
        if fault:
            index, code = divmod(fault, FAULTS)
            raise IntegrityError(f"kernel {policy!r}: fault {code} after request {index}; please report it")
        if between is not None:
            between()
    events = outcome.evicted_ids[: pool.counters[EVENTS]].copy() if record_events else None
    return KernelRun(*outcome[:-1], events)


def _requests_of(trace: DenseTrace, *, ignore_output: bool) -> Requests:
    output_tokens = np.zeros_like(trace.output_tokens) if ignore_output else trace.output_tokens
    return Requests(
        trace.block_size,
        _read_only(trace.starts, np.int64),
        _read_only(trace.ids, np.int32),
        _read_only(trace.prompt_tokens, np.int64),
        _read_only(output_tokens, np.int64),
        _read_only(trace.skip_reads, np.bool_),
    )


def _read_only(array: npt.NDArray[Any], dtype: type[np.generic]) -> npt.NDArray[Any]:
    """One array type for all callers: another one would be compiled for again."""
    view = np.ascontiguousarray(array, dtype=dtype).view()
    view.setflags(write=False)
    return view


def _new_outcome(requests: int, most_events: int) -> Outcome:
    return Outcome(
        np.zeros(requests, dtype=np.int32),
        np.zeros(requests, dtype=np.int32),
        np.zeros(requests, dtype=np.bool_),
        np.zeros(requests, dtype=np.int32),
        np.zeros(_GAPS, dtype=np.int64),
        np.empty(most_events, dtype=np.int64),
    )
