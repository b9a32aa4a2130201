"""A trace read within a budget of memory: parts on disk, then ids in a mapped file.

Interrupted while it is read, the next run encodes what no part covers; later on, it reads nothing again.
"""

from __future__ import annotations

import msgspec
import numpy as np

from keepwarm.cache.bounded import Bounded
from keepwarm.cache.load import LoadedTrace, dense_trace, numbered_trace, read_parts
from keepwarm.cache.opened import Opened
from keepwarm.cache.options import TraceOptions
from keepwarm.cache.parts import RequestColumns, SpilledParts, read_columns, write_columns
from keepwarm.cache.places import InFiles, mapped
from keepwarm.cache.store import spilled_key
from keepwarm.trace.records import EncodingInfo, Skipped

_REQUESTS, _IDS = "interned.parquet", "ids"


class _Interned(msgspec.Struct, frozen=True, kw_only=True):
    """What the finished trace says about itself beside its rows."""

    encoding: EncodingInfo
    models: int
    distinct_blocks: int
    skipped: tuple[Skipped, ...]


def run_key(opened: Opened, options: TraceOptions) -> str:
    """Of the trace, of all that decides its ids, and of the code that replays them.

    Raises InputError: a server tokenises, and what it did before cannot be told from what it does now.
    """
    return spilled_key(opened.trace, opened.first, options, opened.block_size, code="policies/**/*")


def load_spilled(opened: Opened, options: TraceOptions, bounded: Bounded) -> LoadedTrace:
    """``load_trace`` within a budget. Raises what that does, BudgetError, and OSError: a full disk."""
    folder = bounded.folder
    if folder.get(_REQUESTS) is None or folder.get(_IDS) is None:
        _intern(opened, options, bounded)
    columns, about = read_columns(folder.path_of(_REQUESTS), _Interned)
    opened.trace.skipped = about.skipped
    ids = mapped(folder.path_of(_IDS))
    dense = dense_trace(columns, ids, opened.block_size, about.distinct_blocks)
    bounded.settle(ids)
    return LoadedTrace(opened.trace, about.encoding, about.models, columns.lines, dense)


def _intern(opened: Opened, options: TraceOptions, bounded: Bounded) -> None:
    folder = bounded.folder
    parts = SpilledParts(folder)
    encoding = read_parts(opened, options, parts, after_each=lambda: bounded.watch(opened.position.share))
    bounded.check_numbering(sum(parts.hash_counts))
    lines, dense = numbered_trace(opened, parts, InFiles(folder), most_hashes=bounded.most_hashes)
    columns = RequestColumns(
        *(lines, dense.prompt_tokens, dense.output_tokens, dense.skip_reads),
        *(dense.time_s, dense.cached_tokens, np.diff(dense.starts)),
    )
    about = _Interned(
        encoding=encoding,
        models=len(parts.so_far.models),
        distinct_blocks=dense.distinct_blocks,
        skipped=opened.trace.skipped,
    )
    folder.put(_IDS, lambda file: file.write(dense.ids.data))
    folder.put(_REQUESTS, lambda file: write_columns(file, columns, about))
    parts.drop()
