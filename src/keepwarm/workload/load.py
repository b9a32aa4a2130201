"""From a trace file to closed loops: who asks for what, and how long after the answer before.

Sessions are those the trace names; a request of none is a session of its own. A subagent is a session too: it
starts when its entry says and shares blocks with the one that called it. Within a session requests come by
time, in file order where one has none.

**Gap.** What the recording states (``think_time``), else this request's time less the end of the answer
before, else less the time of the request before; never below 0, and 0 where times are missing. Where the
answer before has no recorded end, its time is part of the gap.

**Trigger.** ``TOOL`` where what is new in the prompt holds a tool's result, else ``HUMAN``. The call is known
where messages are; several made side by side are one.

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
from keepwarm.policies.sessions import SessionId
from keepwarm.reuse.calls import ToolCall
from keepwarm.reuse.messages import calls_of
from keepwarm.trace.blocks import Encoded, block_size_of, encoded_hashes, encoded_ids
from keepwarm.trace.encode import PromptEncoder, choose_encoder
from keepwarm.trace.open import Trace, open_trace
from keepwarm.trace.records import Request
from keepwarm.trace.slabs import HashSlabs
from keepwarm.workload.base import SessionTrace, Trigger, Turn, Workload
from keepwarm.workload.heads import SharedHeads

_ENCODER_CACHE_BYTES = 128 << 20
_RESULT_ROLES = ("tool", "function")
_MOST_TOKENS = 1 << 28  # far above any model's context: more is a damaged record


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
    chosen = options or LoadOptions()
    heard = progress or Silent()
    opened = open_trace(trace, chosen.format)
    heard.stage("reading", opened.size_bytes)
    requests = opened.requests(Increments(heard))
    first = next(requests)
    if first.hashed is not None and chosen.block_size not in (None, first.hashed.block_size):
        raise InputError(
            f"{str(opened.path)!r} holds hashes of blocks of {first.hashed.block_size} tokens, not of "
            f"{chosen.block_size}; leave --block-size out or pass {first.hashed.block_size}"
        )
    gathered = _Gathered(opened, first, chosen)
    for request in chain((first,), requests):
        gathered.add(request)
    if not gathered.kept:
        raise TraceError(
            f"no request of {str(opened.path)!r} can be served ({gathered.skipped[0]}); check --format"
        )
    return gathered.workload()


class _Kept(NamedTuple):
    """A request without its texts. ``blocks``: hashes of the full blocks of its prompt."""

    prompt_tokens: int
    output_tokens: int
    blocks: npt.NDArray[np.uint64]
    time_s: float | None
    end_s: float | None
    gap_s: float | None
    trigger: Trigger
    call: ToolCall | None


class _Gathered:
    """Requests read one by one, in file order."""

    def __init__(self, trace: Trace, first: Request, options: LoadOptions) -> None:
        self.kept: dict[SessionId, list[_Kept]] = {}
        self.skipped: list[str] = []
        self._trace = trace
        self._block_size = block_size_of(first, options.block_size)
        self._encoder = _encoder(trace, first, options)
        self._heads = SharedHeads() if options.share_system else None
        self._slabs = HashSlabs()

    def add(self, request: Request) -> None:
        """Keep what serving ``request`` takes, or say why it is left out. Mutates."""
        reason = self._of_no_use(request)
        if reason is not None:
            self._skip(request, reason)
            return
        encoded = self._encoded(request)
        blocks = encoded.blocks[: encoded.prompt_tokens // self._block_size]
        if not encoded.prompt_tokens:
            self._skip(request, "its prompt is empty")
            return
        session = SessionId(request.session or request.id)
        if self._heads is not None and request.hashed is not None:
            blocks = self._heads.shared(session, request.model, request.hashed, blocks)
        after_tool = _is_after_tool(request)
        kept = _Kept(
            encoded.prompt_tokens,
            max(1, _output_tokens(request) or 0),
            self._slabs.keep(blocks),
            request.time_s,
            request.end_s,
            request.gap_s,
            Trigger.TOOL if after_tool else Trigger.HUMAN,
            calls_of(request.messages) if after_tool else None,
        )
        self.kept.setdefault(session, []).append(kept)

    def workload(self) -> Workload:
        """All that was kept, as closed loops."""
        for session in self.kept.values():
            if all(request.time_s is not None for request in session):
                session.sort(key=lambda request: request.time_s or 0.0)  # stable
        numbered = _numbered([request.blocks for session in self.kept.values() for request in session])
        origin_s = self._origin_s()
        sessions = [
            SessionTrace(
                id, max(0.0, (requests[0].time_s or 0.0) - origin_s), tuple(_turns(requests, numbered))
            )
            for id, requests in self.kept.items()  # noqa: A001 - the field's name
        ]
        listed = [f"line {skipped.line}: {skipped.reason}" for skipped in self._trace.skipped]
        return Workload(self._block_size, tuple(sessions), (*listed, *self.skipped))

    def _encoded(self, request: Request) -> Encoded:
        if request.hashed is not None:
            return encoded_hashes(request.hashed)
        assert self._encoder is not None, "a prompt in a trace of block ids was of no use"
        return encoded_ids(request, self._encoder.ids(request), self._block_size)

    def _origin_s(self) -> float:
        if not self._trace.one_clock:
            return 0.0
        times_s = (request.time_s for session in self.kept.values() for request in session)
        return min((time_s for time_s in times_s if time_s is not None), default=0.0)

    def _of_no_use(self, request: Request) -> str | None:
        """Why ``request`` cannot be served; None if it can."""
        if (request.hashed is None) != (self._encoder is not None):
            return "block hashes and prompts in one trace"
        output_tokens = _output_tokens(request)
        if output_tokens is None:
            return "the length of its answer is not recorded"
        hashed = request.hashed
        if output_tokens + (0 if hashed is None else hashed.input_tokens) > _MOST_TOKENS:
            return "more tokens than any model takes"
        if hashed is None:
            return None
        if hashed.block_size != self._block_size:
            return f"blocks of {hashed.block_size} tokens, but of {self._block_size} before"
        if not hashed.hash_ids and hashed.input_tokens >= hashed.block_size:
            return "its block ids are not recorded"
        return None

    def _skip(self, request: Request, reason: str) -> None:
        self.skipped.append(f"line {request.line}, request {request.id!r}: {reason}")


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


def _output_tokens(request: Request) -> int | None:
    """Tokens of the answer; None where they are not recorded."""
    if request.answer_token_ids is not None:
        return len(request.answer_token_ids)
    return request.usage.output_tokens


def _is_after_tool(request: Request) -> bool:
    if request.after_tool is not None:
        return request.after_tool
    return bool(request.messages) and request.messages[-1].get("role") in _RESULT_ROLES


def _turns(requests: list[_Kept], numbered: Iterator[Sequence[BlockHash]]) -> Iterator[Turn]:
    before: _Kept | None = None
    for request, blocks in zip(requests, numbered, strict=False):
        yield Turn(
            request.prompt_tokens,
            request.output_tokens,
            blocks,
            _gap_s(before, request),
            request.trigger,
            request.call,
        )
        before = request


def _gap_s(before: _Kept | None, request: _Kept) -> float:
    if before is None:
        return 0.0
    if request.gap_s is not None:
        return request.gap_s
    ended_s = before.time_s if before.end_s is None else before.end_s
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
