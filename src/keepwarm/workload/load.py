"""From a trace file to closed loops: who asks for what, and how long after the answer before.

Sessions are those the trace names; a request of none is a session of its own. A subagent is a session too: it
starts when its entry says and shares blocks with the one that called it. Within a session requests come by
time, in file order where one has none.

**Gap.** What the recording states (``think_time``), else this request's time less the end of the answer
before; never below 0. Where that end is not recorded, it is the time between the two requests, and the
answer's own time is part of it: what agent sessions state then counts from an even earlier answer. 0 where
times are missing too.

**Trigger.** ``TOOL`` where what is new in the prompt holds a tool's result, else ``HUMAN``; ``UNKNOWN`` where
the recording does not tell. The call is known where messages are; several made side by side are one.

**Answer.** One recorded as empty has one token: a server samples at least that.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt

from keepwarm._errors import InputError, TraceError
from keepwarm._progress import Increments, Progress, Silent
from keepwarm.policies.base import BlockHash
from keepwarm.trace.blocks import block_size_of
from keepwarm.trace.encode import PromptEncoder, choose_encoder
from keepwarm.trace.open import Trace, open_trace
from keepwarm.trace.records import Request
from keepwarm.workload.base import SessionTrace, Turn, Workload
from keepwarm.workload.gather import Gathered, Kept
from keepwarm.workload.recording import Moment, Recording

_ENCODER_CACHE_BYTES = 128 << 20


class LoadOptions(NamedTuple):
    """How to read a trace as a workload.

    ``format``, ``tokenizer``, ``chat_template``, ``block_size``: as for ``keepwarm simulate cache``; a trace
    of block ids has its own block size. ``share_system`` is an assumption, not a fact of the trace: sessions
    with equal counts of tool and system tokens and the same model share the blocks of both.
    """

    format: str = "auto"
    tokenizer: str | None = None
    chat_template: str | None = None
    block_size: int | None = None
    share_system: bool = False


def load_workload(
    trace: str | Path, options: LoadOptions | None = None, *, progress: Progress | None = None
) -> Workload:
    """The sessions of ``trace``, in the order in which they are first met.

    Block hashes are numbered from 0 over the whole workload, by first appearance. Times of one clock count
    from the first request. A request of no use is left out, with a line in ``skipped`` that says why.

    Raises:
        InputError: the trace, the template or the tokenizer cannot be used, or nothing in the trace can.
    """
    return load_recording(trace, options, progress=progress).workload


def load_recording(
    trace: str | Path, options: LoadOptions | None = None, *, progress: Progress | None = None
) -> Recording:
    """The same with the recorded times. Raises what ``load_workload`` does."""
    chosen = options or LoadOptions()
    heard = progress or Silent()
    opened = open_trace(trace, chosen.format)
    heard.stage("reading", opened.size_bytes)
    requests = opened.requests(Increments(heard))
    first = next(requests)
    own = None if first.hashed is None else first.hashed.block_size
    if own is not None and chosen.block_size not in (None, own):
        raise InputError(
            f"{str(opened.path)!r} holds hashes of blocks of {own} tokens, not of {chosen.block_size}; "
            f"leave --block-size out or pass {own}"
        )
    gathered = Gathered(
        _encoder(opened, first, chosen),
        block_size_of(first, chosen.block_size),
        share_system=chosen.share_system,
    )
    for request in chain((first,), requests):
        gathered.add(request)
    if not gathered.sessions:
        raise TraceError(
            f"no request of {str(opened.path)!r} can be served ({gathered.skipped[0]}); check --format"
        )
    gathered.sort_by_time()
    return _recording(opened, gathered)


def _encoder(trace: Trace, first: Request, options: LoadOptions) -> PromptEncoder | None:
    if first.hashed is not None:
        return None
    return choose_encoder(
        trace.path,
        first,
        tokenizer=options.tokenizer,
        chat_template=options.chat_template,
        cache_bytes=_ENCODER_CACHE_BYTES,
    )


def _recording(trace: Trace, gathered: Gathered) -> Recording:
    origin_s = _origin_s(gathered) if trace.one_clock else 0.0
    moments = tuple(
        tuple(
            Moment(_since(request.time_s, origin_s), _since(request.end_s, origin_s)) for request in requests
        )
        for requests in gathered.sessions.values()
    )
    numbered = _numbered([kept.blocks for requests in gathered.sessions.values() for kept in requests])
    sessions = tuple(
        SessionTrace(session, when[0].start_s or 0.0, tuple(_turns(requests, numbered)))
        for (session, requests), when in zip(gathered.sessions.items(), moments, strict=True)
    )
    unread = tuple(f"line {skipped.line}: {skipped.reason}" for skipped in trace.skipped)
    return Recording(trace, Workload(gathered.block_size, sessions, (*unread, *gathered.skipped)), moments)


def _origin_s(gathered: Gathered) -> float:
    times_s = (kept.time_s for requests in gathered.sessions.values() for kept in requests)
    return min((time_s for time_s in times_s if time_s is not None), default=0.0)


def _since(time_s: float | None, origin_s: float) -> float | None:
    return None if time_s is None else time_s - origin_s


def _turns(requests: list[Kept], numbered: Iterator[Sequence[BlockHash]]) -> Iterator[Turn]:
    before: Kept | None = None
    for request in requests:
        yield Turn(
            request.prompt_tokens,
            request.output_tokens,
            next(numbered),
            _gap_s(before, request),
            request.trigger,
            request.call,
        )
        before = request


def _gap_s(before: Kept | None, request: Kept) -> float:
    if before is None:
        return 0.0
    ended_s = before.time_s if before.end_s is None else before.end_s
    is_between_requests = before.end_s is None and before.time_s is not None and request.time_s is not None
    if request.gap_s is not None and not is_between_requests:
        return request.gap_s
    if ended_s is None or request.time_s is None:
        return 0.0
    return max(0.0, request.time_s - ended_s)


def _numbered(blocks: list[npt.NDArray[np.uint64]]) -> Iterator[Sequence[BlockHash]]:
    """The hashes of each request as numbers from 0, by first appearance over all of them: 4 bytes each."""
    import pyarrow as pa

    interned = pa.array(np.concatenate(blocks)).dictionary_encode().indices.to_numpy()
    start = 0
    for hashes in blocks:
        end = start + len(hashes)
        numbers = array("i", interned[start:end].astype(np.intc, copy=False).tobytes())
        yield cast("Sequence[BlockHash]", numbers)
        start = end
