"""LRU stack distances of followed blocks, compiled: how many blocks a cache must hold for a re-use to hit.

Requests leave the cache tail first, so behind its own blocks a request leaves the order as it was: LRU is a
stack, and a re-use hits exactly if the blocks used since (its own prefix and itself included) fit. Mattson,
Gecsei, Slutz, Traiger: Evaluation techniques for storage hierarchies, 1970. One sum over a Fenwick tree of
requests gives the distance of all blocks that one request used last: O(log requests) for a followed use.

Twins (a block computed again while it is cached) count as one block here; in a server they take up two.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar, cast

import numpy as np
import numpy.typing as npt

from keepwarm.cache.kernels.compile import jit_on_disk

_Function = TypeVar("_Function", bound=Callable[..., object])

NOT_COUNTED = -1.0
"""Distance of a use that is no re-use to be estimated: a first one, or one that is not looked up."""


def _compiled(function: _Function) -> _Function:
    return cast("_Function", jit_on_disk(function))


class Shapes(NamedTuple):
    """What of each request is known without following any block; one entry a request, sums one more.

    ``old_blocks`` of its leading blocks were stored by an earlier request, ``asked_blocks`` of them are
    looked up, ``repeated_blocks`` are in the request just before, too: their distance is their depth.
    ``part_block``: 1 where it ends in a part-block. ``distinct_sums``, ``unknown_sums`` and ``old_sums`` are
    totals over earlier requests: contents introduced, full output blocks of unknown content, old blocks
    that are not repeated ones.
    """

    old_blocks: npt.NDArray[np.int64]
    asked_blocks: npt.NDArray[np.int64]
    repeated_blocks: npt.NDArray[np.int64]
    part_block: npt.NDArray[np.int64]
    distinct_sums: npt.NDArray[np.int64]
    unknown_sums: npt.NDArray[np.int64]
    old_sums: npt.NDArray[np.int64]


class Uses(NamedTuple):
    """Uses of followed blocks in replay order: ``block`` numbers them from 0, ``depth`` counts from 0."""

    request: npt.NDArray[np.int32]
    depth: npt.NDArray[np.int32]
    block: npt.NDArray[np.int32]


class _Ledger(NamedTuple):
    """Weights by row, a request with followed blocks. ``last`` is the row of each block's last use."""

    last: npt.NDArray[np.int64]
    request_of: npt.NDArray[np.int64]
    held: npt.NDArray[np.float64]  # Fenwick tree: blocks by the row that used them last
    introduced_sums: npt.NDArray[np.float64]
    old_sums: npt.NDArray[np.float64]


@_compiled
def leading_blocks(
    starts: npt.NDArray[np.int64],
    ids: npt.NDArray[np.int32],
    old_blocks: npt.NDArray[np.int64],
    same_blocks: npt.NDArray[np.int64],
) -> None:
    """Fill in how many leading blocks are old, and how many the request just before shares.

    Ids are numbered in order of first appearance and stand for whole prefixes, so both are found by halving.
    """
    seen = 0
    for request in range(len(old_blocks)):
        start, stop = starts[request], starts[request + 1]
        low, high = start, stop
        while low < high:
            middle = (low + high) // 2
            if ids[middle] < seen:
                low = middle + 1
            else:
                high = middle
        old_blocks[request] = low - start
        seen += stop - low
        if request == 0:
            continue
        before = starts[request - 1]
        low, high = 0, min(old_blocks[request], start - before)
        while low < high:
            middle = (low + high) // 2
            if ids[start + middle] == ids[before + middle]:
                low = middle + 1
            else:
                high = middle
        same_blocks[request] = low


@_compiled
def find_uses(
    starts: npt.NDArray[np.int64], ids: npt.NDArray[np.int32], followed: npt.NDArray[np.int32]
) -> Uses:
    """All uses of the blocks ``followed`` (ascending ids): one look at each block of the trace."""
    bits = 4  # a table eight times as large: nearly every block that is not followed meets an empty place
    while (1 << bits) < 8 * len(followed):
        bits += 1
    table = np.full(1 << bits, -1, dtype=np.int32)
    mask = (1 << bits) - 1
    for block in range(len(followed)):
        place = _place(followed[block], bits)
        while table[place] >= 0:
            place = (place + 1) & mask
        table[place] = block
    count = 0
    request_of = np.empty(1024, dtype=np.int32)
    depth_of = np.empty(1024, dtype=np.int32)
    block_of = np.empty(1024, dtype=np.int32)
    for request in range(len(starts) - 1):
        for index in range(starts[request], starts[request + 1]):
            place = _place(ids[index], bits)
            block = table[place]
            while block >= 0 and followed[block] != ids[index]:
                place = (place + 1) & mask
                block = table[place]
            if block < 0:
                continue
            if count == len(block_of):
                request_of, depth_of, block_of = _doubled(request_of), _doubled(depth_of), _doubled(block_of)
            request_of[count] = request
            depth_of[count] = index - starts[request]
            block_of[count] = block
            count += 1
    return Uses(request_of[:count], depth_of[:count], block_of[:count])


@_compiled
def _place(block_id: int, bits: int) -> int:
    return ((block_id * 0x9E3779B1) & 0xFFFFFFFF) >> (32 - bits)


@_compiled
def _doubled(array: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    larger = np.empty(2 * len(array), dtype=np.int32)
    larger[: len(array)] = array
    return larger


@_compiled
def use_distances(uses: Uses, weights: npt.NDArray[np.float64], shapes: Shapes) -> npt.NDArray[np.float64]:
    """Estimated stack distance of each use, in blocks; ``NOT_COUNTED`` where it is none to be estimated.

    ``weights``: how many blocks each followed one stands for. Exact are the own prefix, and what requests
    in between introduced; old blocks among theirs are estimated from followed ones, and scaled by how many
    old blocks these requests had and how many the followed ones stand for. All weights 1: exact.
    """
    count = len(uses.request)
    distances = np.full(count, NOT_COUNTED)
    ledger = _Ledger(
        np.full(len(weights), -1, dtype=np.int64),
        np.empty(count, dtype=np.int64),
        np.zeros(count + 1),
        np.zeros(count + 1),
        np.zeros(count + 1),
    )
    row = begin = 0
    while begin < count:
        end = begin
        while end < count and uses.request[end] == uses.request[begin]:
            end += 1
        ledger.request_of[row] = uses.request[begin]
        _measure(uses, weights, shapes, ledger, row, begin, end, distances)
        _file(uses, weights, shapes, ledger, row, begin, end)
        row += 1
        begin = end
    return distances


@_compiled
def _measure(
    uses: Uses,
    weights: npt.NDArray[np.float64],
    shapes: Shapes,
    ledger: _Ledger,
    row: int,
    begin: int,
    end: int,
    distances: npt.NDArray[np.float64],
) -> None:
    """Distances of the uses ``begin:end``, those of one request, before they are filed."""
    request = uses.request[begin]
    repeated, asked = shapes.repeated_blocks[request], shapes.asked_blocks[request]
    previous = -1
    between = newer = same = 0.0  # old blocks in between; of the own prefix: used since, used by ``previous``
    for index in range(begin, end):
        block, depth = uses.block[index], uses.depth[index]
        last = ledger.last[block]
        if last < 0 or depth >= asked:
            return  # last uses only grow older towards the end of a prompt
        if last != previous:
            newer += same
            same = 0.0
            previous = last
            between = _sum_before(ledger.held, row) - _sum_before(ledger.held, last + 1) - newer
            between -= ledger.introduced_sums[row] - ledger.introduced_sums[last + 1]
            since = ledger.request_of[last] + 1
            estimated = ledger.old_sums[row] - ledger.old_sums[last + 1]
            if estimated > 0:
                between *= (shapes.old_sums[request] - shapes.old_sums[since]) / estimated
            between = max(0.0, between)
            between += shapes.distinct_sums[request] - shapes.distinct_sums[since]
            between += shapes.unknown_sums[request] - shapes.unknown_sums[since]
        same += weights[block]
        if depth >= repeated:
            distances[index] = between + depth + 1 + shapes.part_block[request - 1]


@_compiled
def _file(
    uses: Uses,
    weights: npt.NDArray[np.float64],
    shapes: Shapes,
    ledger: _Ledger,
    row: int,
    begin: int,
    end: int,
) -> None:
    """Enter the uses ``begin:end`` as the latest of their blocks."""
    repeated = shapes.repeated_blocks[uses.request[begin]]
    held = introduced = old = 0.0
    for index in range(begin, end):
        block = uses.block[index]
        last = ledger.last[block]
        if last < 0:
            introduced += weights[block]
        else:
            _add(ledger.held, last, -weights[block])
            if uses.depth[index] >= repeated:
                old += weights[block]
        ledger.last[block] = row
        held += weights[block]
    _add(ledger.held, row, held)
    ledger.introduced_sums[row + 1] = ledger.introduced_sums[row] + introduced
    ledger.old_sums[row + 1] = ledger.old_sums[row] + old


@_compiled
def _sum_before(tree: npt.NDArray[np.float64], row: int) -> float:
    total = 0.0
    while row > 0:
        total += tree[row]
        row -= row & -row
    return total


@_compiled
def _add(tree: npt.NDArray[np.float64], row: int, weight: float) -> None:
    row += 1
    while row < len(tree):
        tree[row] += weight
        row += row & -row


@_compiled
def renumbered(
    starts: npt.NDArray[np.int64],
    ids: npt.NDArray[np.int32],
    lengths: npt.NDArray[np.int64],
    distinct_blocks: int,
) -> npt.NDArray[np.int32]:
    """The first ``lengths`` blocks of each request, numbered anew in order of first appearance among them."""
    new_ids = np.full(distinct_blocks, -1, dtype=np.int32)
    result = np.empty(lengths.sum(), dtype=np.int32)
    count = found = 0
    for request in range(len(lengths)):
        for index in range(starts[request], starts[request] + lengths[request]):
            if new_ids[ids[index]] < 0:
                new_ids[ids[index]] = found
                found += 1
            result[count] = new_ids[ids[index]]
            count += 1
    return result
