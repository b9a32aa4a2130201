"""What a replay will take of the memory, before it is begun."""

from __future__ import annotations

import numpy as np

from keepwarm.cache.kernels.extent import Extent
from keepwarm.cache.kernels.operations import Setup
from keepwarm.cache.kernels.pool import Requests, new_pool
from keepwarm.cache.kernels.run import KERNELS

_SMALL = 1 << 12
_BYTES_PER_REQUEST = 96  # of the outcome, and of arrays on the way to it


def replay_bytes(policy: str, whole: Extent) -> int:
    """Memory of one replay beside the trace's own.

    Arrays grow in proportion, so their sizes are read off small ones: no policy has to keep a list of them.
    """
    small = Extent._make(min(size, _SMALL) for size in whole)
    base = _made_bytes(policy, small)
    total = base + _BYTES_PER_REQUEST * whole.requests
    for index, size in enumerate(whole):
        if size > _SMALL:
            doubled = Extent._make((*small[:index], 2 * _SMALL, *small[index + 1 :]))
            total += (_made_bytes(policy, doubled) - base) * (size - _SMALL) // _SMALL
    return total


def _made_bytes(policy: str, extent: Extent) -> int:
    row = np.zeros(extent.requests, dtype=np.int64)
    trace = Requests(16, row, np.zeros(extent.blocks, dtype=np.int32), row, row, row > 0)
    setup = Setup(extent.slots, extent.table_blocks, extent.distinct_blocks, trace)
    pool = new_pool(extent.slots, 1, extent.distinct_blocks, extent.table_blocks)
    return _bytes_of((pool, KERNELS[policy].new_state(setup)), trace)


def _bytes_of(value: object, trace: Requests) -> int:
    """Of all arrays in it but those of the trace, which a state may refer to."""
    if isinstance(value, np.ndarray):
        return 0 if any(value is each for each in trace) else value.nbytes
    return sum(_bytes_of(each, trace) for each in value) if isinstance(value, tuple) else 0
