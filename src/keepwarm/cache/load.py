"""From a trace file to dense block ids: read, encode, put into replay order, intern.

Prompts are encoded one by one and dropped; only hashes and lengths are kept, so memory grows with
the number of blocks and not with their text. Where memory is bounded, ``spilled`` does the same on disk.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from keepwarm._progress import Progress, Silent
from keepwarm.cache.dense import DenseTrace
from keepwarm.cache.numbering import numbered, reordered
from keepwarm.cache.opened import Opened, open_requests
from keepwarm.cache.options import TraceOptions
from keepwarm.cache.parts import Part, PartMaker, Parts, PartsInMemory, ReadSoFar, RequestColumns
from keepwarm.cache.places import Ids, InMemory, Place
from keepwarm.cache.replay import CacheRequest
from keepwarm.cache.store import StoredTrace, TraceStore, trace_key
from keepwarm.trace.blocks import (
    encoded_hashes,
    encoded_ids,
    output_tokens,
    read_skipping_param,
)
from keepwarm.trace.encode import (
    PromptEncoder,
    choose_encoder,
    drops_tools,
    hashes_info,
    recorded_ids_info,
    without_tools,
)
from keepwarm.trace.open import Trace
from keepwarm.trace.records import EncodingInfo, Request

_CACHE_BYTES = 128 << 20  # half of what an encoder keeps alone: the hashes of the trace lie beside it
_NO_COUNT = -1


class LoadedTrace(NamedTuple):
    """A trace ready to be replayed.

    ``lines[i]`` is the line of the file, from 1, that request ``i`` of ``dense`` was read from.
    """

    trace: Trace
    encoding: EncodingInfo
    models: int  # different models named by the requests
    lines: npt.NDArray[np.int64]
    dense: DenseTrace


def load_trace(
    path: str | os.PathLike[str],
    options: TraceOptions,
    *,
    store: TraceStore | None = None,
    progress: Progress | None = None,
) -> LoadedTrace:
    """Read the trace at ``path``, or take it from ``store`` where an earlier run left it.

    Requests come in recorded order; those of sessions that have no common clock are merged by time since
    the start of their session, then file order.

    Raises:
        InputError: the trace, the template or the tokenizer cannot be used, or its block size is not
            the one asked for; says what and where.
    """
    opened = open_requests(path, options, progress or Silent())
    trace = opened.trace
    key = trace_key(trace, opened.first, options, opened.block_size) if store is not None else None
    found = store.load(key) if store is not None and key is not None else None
    if found is None:
        found = _read(opened, options)
        if store is not None and key is not None and not trace.skipped:  # reasons may quote the trace
            store.save(key, found)
    return LoadedTrace(trace, *found)


def _read(opened: Opened, options: TraceOptions) -> StoredTrace:
    parts, place = PartsInMemory(), InMemory()
    encoding = read_parts(opened, options, parts)
    lines, dense = numbered_trace(opened, parts, place)
    return StoredTrace(encoding, len(parts.so_far.models), lines, dense)


def read_parts(
    opened: Opened, options: TraceOptions, parts: Parts, after_each: Callable[[], None] = lambda: None
) -> EncodingInfo:
    """Encode the requests that ``parts`` do not cover, and add them. Raises InputError as ``load_trace``."""
    first, block_size = opened.first, opened.block_size
    encoder = None
    if first.hashed is None:
        encoder = choose_encoder(
            opened.trace.path,
            first,
            tokenizer=options.tokenizer,
            chat_template=options.chat_template,
            cache_bytes=_CACHE_BYTES,
        )
    kept = _Kept(encoder, block_size, parts.so_far)
    for request in islice(opened.checked(chosen=options.block_size is not None), parts.requests, None):
        kept.add(request)
        if kept.maker.full:
            parts.add(kept.take())
            after_each()
    if not kept.maker.empty:
        parts.add(kept.take())
    return kept.encoding()


def numbered_trace(
    opened: Opened, parts: Parts, place: Place, *, most_hashes: int | None = None
) -> tuple[npt.NDArray[np.int64], DenseTrace]:
    """Lines and dense ids, in the order of replay. Raises OSError: there is no room in ``place``."""
    columns = parts.columns()
    starts = _starts(columns.blocks)
    distinct, pieces = numbered(parts, place, most_hashes=most_hashes)
    ids = place.filled(pieces, int(starts[-1]))
    if not opened.trace.one_clock:
        order = replay_order(columns.lines, columns.time_s, one_clock=False)
        ids = place.filled(reordered(ids, starts, order, distinct), len(ids))
        columns = RequestColumns._make(column[order] for column in columns)
    return columns.lines, dense_trace(columns, ids, opened.block_size, distinct)


def dense_trace(columns: RequestColumns, ids: Ids, block_size: int, distinct_blocks: int) -> DenseTrace:
    """The trace of requests in replay order; its arrays become read-only."""
    arrays = (
        *(_starts(columns.blocks), ids, columns.prompt_tokens, columns.output_tokens),
        *(columns.skip_reads, columns.time_s, columns.cached_tokens),
    )
    for array in arrays:
        array.setflags(write=False)
    return DenseTrace(block_size, distinct_blocks, *arrays)


def _starts(blocks: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    starts = np.zeros(len(blocks) + 1, dtype=np.int64)
    np.cumsum(blocks, out=starts[1:])
    return starts


def replay_order(
    lines: Sequence[int] | npt.NDArray[np.int64],
    times_s: Sequence[float] | npt.NDArray[np.float64],
    *,
    one_clock: bool,
) -> npt.NDArray[np.int64]:
    """Places in the file in the order of replay, shape ``(requests,)``.

    ``times_s`` are NaN where not recorded: such a request takes that of the one before it in the same line,
    in which a session lies. With ``one_clock`` they are recorded in order already.
    """
    if one_clock:
        return np.arange(len(lines))
    known_s = np.array(times_s, dtype=np.float64)
    for index in np.flatnonzero(np.isnan(known_s)).tolist():
        follows = index > 0 and lines[index] == lines[index - 1]
        known_s[index] = known_s[index - 1] if follows else 0.0
    return np.argsort(known_s, kind="stable")


class _Kept:
    """What is kept of requests read one by one, in file order. ``encoder`` is None for block hashes."""

    def __init__(self, encoder: PromptEncoder | None, block_size: int, so_far: ReadSoFar) -> None:
        self.maker = PartMaker()
        self._encoder = encoder
        self._block_size = block_size
        self._models = set(so_far.models)
        self._all_ids_recorded = so_far.all_ids_recorded
        self._drops_tools = so_far.drops_tools

    def add(self, request: Request) -> None:
        """Encode ``request`` and keep its hashes. Mutates."""
        if request.hashed is not None:
            encoded = encoded_hashes(request.hashed)
        else:
            assert self._encoder is not None, "only a trace without hashes has requests without"
            encoded = encoded_ids(request, self._encoder.ids(request), self._block_size)
            self._note(request, self._encoder)
        self._models.add(request.model)
        skips = read_skipping_param(request.params, is_chat=request.prompt_text is None) is not None
        seen = CacheRequest(encoded.blocks, encoded.prompt_tokens, output_tokens(request), skips)
        time_s, cached = request.time_s, request.usage.cached_tokens
        self.maker.add(
            (
                *(request.line, seen.prompt_tokens, seen.output_tokens, seen.skip_reads),
                *(np.nan if time_s is None else time_s, _NO_COUNT if cached is None else cached),
            ),
            seen.stored_blocks(self._block_size),
        )

    def take(self) -> Part:
        """The requests since the last part. Mutates."""
        return self.maker.take(
            ReadSoFar(
                models=tuple(sorted(self._models)),
                all_ids_recorded=self._all_ids_recorded,
                drops_tools=self._drops_tools,
            )
        )

    def encoding(self) -> EncodingInfo:
        """What to tell about the tokens, once all requests are in."""
        if self._encoder is None:
            return hashes_info()
        info = self._encoder.info
        if self._all_ids_recorded:
            return recorded_ids_info(info)
        return without_tools(info) if self._drops_tools else info

    def _note(self, request: Request, encoder: PromptEncoder) -> None:
        if request.prompt_token_ids is not None:
            return
        self._all_ids_recorded = False
        if self._drops_tools is None and request.tools and request.prompt_text is None:
            self._drops_tools = drops_tools(encoder.rendered(request))
