"""Give every distinct block a dense id, once per trace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from keepwarm._errors import InputError
from keepwarm.cache.dense import DenseTrace
from keepwarm.cache.replay import CacheRequest

_Scalar = TypeVar("_Scalar", bound=np.generic)


def intern_requests(
    requests: Sequence[CacheRequest],
    block_size: int,
    *,
    time_s: npt.NDArray[np.float64] | None = None,
    cached_tokens: npt.NDArray[np.int64] | None = None,
) -> DenseTrace:
    """Number block hashes by first appearance; blocks that are never computed in full are left out.

    ``time_s`` and ``cached_tokens`` are what was recorded of each request, if anything was. One hash table
    over all hashes: beside its result it needs one copy of them. Raises InputError if ``block_size``
    is not positive.
    """
    import pyarrow as pa

    if block_size < 1:
        raise InputError(f"block size {block_size!r} is not positive; give the server's, say 16")
    blocks = [request.stored_blocks(block_size) for request in requests]
    starts = np.zeros(len(blocks) + 1, dtype=np.int64)
    np.cumsum([len(hashes) for hashes in blocks], out=starts[1:])
    hashes = np.concatenate(blocks) if blocks else np.empty(0, dtype=np.uint64)
    interned = pa.array(hashes).dictionary_encode()  # numbers values as they come
    return DenseTrace(
        block_size,
        len(interned.dictionary),
        _read_only(starts),
        _read_only(interned.indices.to_numpy()),
        _read_only(np.array([request.prompt_tokens for request in requests], dtype=np.int64)),
        _read_only(np.array([request.output_tokens for request in requests], dtype=np.int64)),
        _read_only(np.array([request.skip_reads for request in requests], dtype=np.bool_)),
        _read_only(np.full(len(blocks), np.nan) if time_s is None else time_s),
        _read_only(np.full(len(blocks), -1, dtype=np.int64) if cached_tokens is None else cached_tokens),
    )


def _read_only(array: npt.NDArray[_Scalar]) -> npt.NDArray[_Scalar]:
    view = array.view()
    view.setflags(write=False)
    return view
