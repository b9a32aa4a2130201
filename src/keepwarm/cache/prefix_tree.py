"""Which earlier request held each prefix, in memory that grows with requests and not with blocks.

Hashes of blocks are chained, so a hash stands for all blocks up to its own. A tree over prefixes therefore
needs a node only where requests part or end: at most two for each request, and equal ends of an edge mean
equal edges. Where a request parts within an edge, the blocks of a request that has the edge are asked for.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from keepwarm._errors import IntegrityError
from keepwarm.trace.hashes import BlockHashes


class Held(NamedTuple):
    """A run of leading blocks, up to ``end``, whose latest earlier holder is ``request_index``."""

    end: int
    request_index: int


class PrefixTree:
    """A tree over the prefixes of requests. ``blocks_of`` gives the hashes of one that was added."""

    def __init__(self, blocks_of: Callable[[int], BlockHashes]) -> None:
        self._blocks_of = blocks_of
        self._node_of: dict[int, int] = {}  # by the first hash of the edge that leads to it
        self._end = array("q")  # blocks up to the node
        self._last = array("Q")  # the hash there
        self._holder = array("q")  # the latest request with all blocks up to the node

    def add(self, index: int, blocks: BlockHashes) -> list[Held]:
        """The earlier holders of the leading blocks of request ``index``, deeper ones later; adds it.

        Beyond the last run no earlier request has its blocks. ``index`` rises from call to call. Mutates.
        """
        runs: list[Held] = []
        depth = 0
        while depth < len(blocks):
            node = self._node_of.get(int(blocks[depth]))
            if node is None:
                self._new(int(blocks[depth]), len(blocks), int(blocks[-1]), index)
                break
            end = self._end[node]
            if end > len(blocks) or int(blocks[end - 1]) != self._last[node]:
                end = self._split(node, depth, blocks)
            if end <= depth:
                raise IntegrityError(f"request {index} has the hash of block {depth} at another depth, too")
            _extend(runs, end, self._holder[node])
            self._holder[node] = index
            depth = end
        return runs

    def _new(self, first: int, end: int, last: int, holder: int) -> None:
        self._node_of[first] = len(self._end)
        self._end.append(end)
        self._last.append(last)
        self._holder.append(holder)

    def _split(self, node: int, depth: int, blocks: BlockHashes) -> int:
        """Cut the edge from ``depth`` to ``node`` where ``blocks`` leave it; ``node`` ends there then."""
        holder, end = self._holder[node], self._end[node]
        theirs = self._blocks_of(holder)
        stop = min(len(blocks), end)
        unequal = np.flatnonzero(blocks[depth:stop] != theirs[depth:stop])
        cut = depth + int(unequal[0]) if len(unequal) else stop
        self._new(int(theirs[cut]), end, self._last[node], holder)
        self._end[node], self._last[node] = cut, int(blocks[cut - 1])
        return cut


def _extend(runs: list[Held], end: int, holder: int) -> None:
    if runs and runs[-1].request_index == holder:
        runs.pop()
    runs.append(Held(end, holder))
