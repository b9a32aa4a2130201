"""From a trace file to dense block ids: read, encode, put into replay order, intern.

Prompts are encoded one by one and dropped; only hashes and lengths are kept, so memory grows with
the number of blocks and not with their text.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from keepwarm._errors import InputError
from keepwarm._progress import Increments, Progress, Silent
from keepwarm.cache.dense import DenseTrace
from keepwarm.cache.intern import intern_requests
from keepwarm.cache.options import TraceOptions
from keepwarm.cache.replay import CacheRequest
from keepwarm.cache.store import StoredTrace, TraceStore, trace_key
from keepwarm.trace.blocks import (
    block_size_of,
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
from keepwarm.trace.open import Trace, open_trace
from keepwarm.trace.records import EncodingInfo, Request
from keepwarm.trace.slabs import HashSlabs

_CACHE_BYTES = 128 << 20  # half of what an encoder keeps alone: the hashes of the trace lie beside it
_NO_COUNT = -1
# Far above any model's context and any server's block: more is a damaged record, and would take all memory.
_MOST_TOKENS, _MOST_BLOCK_TOKENS = 1 << 28, 1 << 20


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
    path: str, options: TraceOptions, *, store: TraceStore | None = None, progress: Progress | None = None
) -> LoadedTrace:
    """Read the trace at ``path``, or take it from ``store`` where an earlier run left it.

    Requests come in recorded order; those of sessions that have no common clock are merged by time since
    the start of their session, then file order.

    Raises:
        InputError: the trace, the template or the tokenizer cannot be used, or its block size is not
            the one asked for; says what and where.
    """
    heard = progress or Silent()
    trace = open_trace(path, options.format)
    heard.stage("reading", trace.size_bytes)
    requests = trace.requests(Increments(heard))
    first = next(requests)  # a trace without a request raises TraceError
    _check_block_size(trace, first, options.block_size)
    block_size = block_size_of(first, options.block_size)
    key = trace_key(trace, first, options, block_size) if store is not None else None
    found = store.load(key) if store is not None and key is not None else None
    if found is None:
        found = _read(trace, chain((first,), requests), first, options, block_size)
        if store is not None and key is not None and not trace.skipped:  # reasons may quote the trace
            store.save(key, found)
    return LoadedTrace(trace, *found)


def _check_block_size(trace: Trace, first: Request, wanted: int | None) -> None:
    own = first.hashed.block_size if first.hashed is not None else None
    if own is not None and wanted is not None and wanted != own:
        raise InputError(
            f"{str(trace.path)!r} holds hashes of blocks of {own} tokens, not of {wanted}; "
            f"leave --block-size out or pass {own}"
        )


def _read(
    trace: Trace, requests: Iterable[Request], first: Request, options: TraceOptions, block_size: int
) -> StoredTrace:
    encoder = None
    if first.hashed is None:
        encoder = choose_encoder(
            trace.path,
            first,
            tokenizer=options.tokenizer,
            chat_template=options.chat_template,
            cache_bytes=_CACHE_BYTES,
        )
    checked = _checked(trace, requests, first, block_size, chosen=options.block_size is not None)
    kept = _Kept(encoder, block_size)
    for request in checked:
        kept.add(request)
    return StoredTrace(kept.encoding(), len(kept.models), *kept.interned(one_clock=trace.one_clock))


def replay_order(lines: Sequence[int], times_s: Sequence[float], *, one_clock: bool) -> npt.NDArray[np.int64]:
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


def _checked(
    trace: Trace, requests: Iterable[Request], first: Request, block_size: int, *, chosen: bool
) -> Iterator[Request]:
    """The requests, as long as all of them can be replayed through one cache."""
    place = repr(str(trace.path))
    if block_size > _MOST_BLOCK_TOKENS:
        raise InputError(
            f"{place} line {first.line}: blocks of {block_size} tokens, more than any server's; correct the "
            "record, or take it out"
        )
    for request in requests:
        tokens = output_tokens(request) + (0 if request.hashed is None else request.hashed.input_tokens)
        if tokens > _MOST_TOKENS:
            raise InputError(
                f"{place} line {request.line}: {tokens} tokens in one request, more than any model takes; "
                "correct the record, or take it out"
            )
        if (request.hashed is None) != (first.hashed is None):
            raise InputError(
                f"{place} line {request.line}: block hashes and prompts in one trace; split it in two"
            )
        if request.hashed is not None and request.hashed.block_size != block_size:
            raise InputError(
                f"{place} line {request.line}: blocks of {request.hashed.block_size} tokens, but of "
                f"{block_size} before; split the trace by block size"
            )
        if not chosen and request.block_size not in (None, block_size) and request.hashed is None:
            raise InputError(
                f"{place} line {request.line}: the engine's block size is {request.block_size}, but "
                f"{block_size} before; pass one for all with --block-size"
            )
        yield request


class _Kept:
    """What is kept of requests read one by one, in file order. ``encoder`` is None for block hashes."""

    def __init__(self, encoder: PromptEncoder | None, block_size: int) -> None:
        self.models: set[str] = set()
        self._encoder = encoder
        self._block_size = block_size
        self._slabs = HashSlabs()
        self._requests: list[CacheRequest] = []
        self._lines = array("q")
        self._times_s = array("d")
        self._cached_tokens = array("q")
        self._all_ids_recorded = True
        self._drops_tools: bool | None = None  # None: no request with tools to render so far

    def add(self, request: Request) -> None:
        """Encode ``request`` and keep its hashes. Mutates."""
        if request.hashed is not None:
            encoded = encoded_hashes(request.hashed)
        else:
            assert self._encoder is not None, "only a trace without hashes has requests without"
            encoded = encoded_ids(request, self._encoder.ids(request), self._block_size)
            self._note(request, self._encoder)
        self.models.add(request.model)
        blocks = self._slabs.keep(encoded.blocks)
        skips = read_skipping_param(request.params, is_chat=request.prompt_text is None) is not None
        self._requests.append(CacheRequest(blocks, encoded.prompt_tokens, output_tokens(request), skips))
        self._lines.append(request.line)
        self._times_s.append(np.nan if request.time_s is None else request.time_s)
        cached = request.usage.cached_tokens
        self._cached_tokens.append(_NO_COUNT if cached is None else cached)

    def interned(self, *, one_clock: bool) -> tuple[npt.NDArray[np.int64], DenseTrace]:
        """Lines and dense ids, in the order of replay."""
        chosen = replay_order(self._lines, self._times_s, one_clock=one_clock)
        dense = intern_requests(
            [self._requests[index] for index in chosen.tolist()],
            self._block_size,
            time_s=np.array(self._times_s)[chosen],
            cached_tokens=np.array(self._cached_tokens, dtype=np.int64)[chosen],
        )
        return np.array(self._lines, dtype=np.int64)[chosen], dense

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
