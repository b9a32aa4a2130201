"""What a policy's kernel can do: the operations of ``policies/base.py``, for a whole request at once.

A replay serves one request after another, so the blocks in use are those of one request. Its block table is
``pool.table``, first block first; a block is named by its slot (0 .. capacity - 1). Operations get the
policy's own state (a NamedTuple of arrays, which they mutate) and the pool (which they only read).
The functions below are what a policy gets that does not bring its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from keepwarm.cache.kernels.pool import Pool, Requests

State = Any  # a NamedTuple of arrays and integers, another one for each policy


def on_start(state: State, pool: Pool, requests: Requests) -> None:
    """A replay of all ``requests`` begins."""


def on_admit(state: State, pool: Pool, requests: Requests, index: int, hits: int) -> None:
    """Request ``index`` is admitted, and hits the first ``hits`` of its ids; ``on_hits`` follows."""


def on_hits(state: State, pool: Pool, hits: int) -> None:
    """The blocks ``pool.table[:hits]``, all of them free until now, leave the order. ``hits`` may be 0."""
    raise NotImplementedError


def on_allocate(state: State, pool: Pool, new_blocks: int, blank_blocks: int) -> None:
    """``new_blocks`` > 0 are about to be handed out; ``blank_blocks`` without content go first."""


def pop_victim(state: State, pool: Pool) -> int:
    """Take the slot to be reused next out of the order, which is not empty."""
    raise NotImplementedError


def on_evict(state: State, pool: Pool, slot: int, content: int) -> None:
    """``content`` of the ``slot`` just popped is lost; the pool has forgotten it already."""


def on_cache(state: State, pool: Pool, start: int, stop: int) -> None:
    """The blocks ``pool.table[start:stop]`` got their contents, at depths ``start + 1`` to ``stop``."""


def on_free(state: State, pool: Pool, blocks: int) -> None:
    """Take over ``pool.table[:blocks]``, all with content, last one first."""
    raise NotImplementedError


def check(state: State, pool: Pool, held: npt.NDArray[np.int64]) -> int:
    """Add 1 to ``held`` for each slot in the order; 0, or 1 to 31 for the invariant that fails."""
    raise NotImplementedError


class Setup(NamedTuple):
    """What a policy may know when its state is made: how long its arrays have to be.

    ``slots`` is the capacity, or less if the trace cannot fill it; ``table_blocks`` the longest block table.
    """

    slots: int
    table_blocks: int
    distinct_blocks: int
    requests: Requests


class PolicyKernel(NamedTuple):
    """The operations of one policy, plain Python functions that numba can compile.

    ``new_state(setup, **parameters)`` makes a fresh state. Functions they call are compiled along if
    they are imported by name from this package.
    """

    new_state: Callable[..., State]
    on_hits: Callable[[State, Pool, int], None]
    pop_victim: Callable[[State, Pool], int]
    on_free: Callable[[State, Pool, int], None]
    check: Callable[[State, Pool, npt.NDArray[np.int64]], int]
    on_start: Callable[[State, Pool, Requests], None] = on_start
    on_admit: Callable[[State, Pool, Requests, int, int], None] = on_admit
    on_allocate: Callable[[State, Pool, int, int], None] = on_allocate
    on_evict: Callable[[State, Pool, int, int], None] = on_evict
    on_cache: Callable[[State, Pool, int, int], None] = on_cache

    def operations(self) -> Mapping[str, Callable[..., Any]]:
        """By name, all but ``new_state``."""
        operations = self._asdict()
        del operations["new_state"]
        return operations
