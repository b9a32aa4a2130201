"""Requests of a trace, one by one, down to what serving them takes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from keepwarm.policies.sessions import SessionId
from keepwarm.reuse.calls import ToolCall
from keepwarm.reuse.messages import calls_of
from keepwarm.trace.blocks import Encoded, encoded_hashes, encoded_ids
from keepwarm.trace.encode import PromptEncoder
from keepwarm.trace.records import Request
from keepwarm.trace.slabs import HashSlabs
from keepwarm.workload.base import Trigger
from keepwarm.workload.heads import SharedHeads

_RESULT_ROLES = ("tool", "function")
_MOST_TOKENS = 1 << 28  # far above any model's context: more is a damaged record


class Kept(NamedTuple):
    """A request without its texts. ``blocks``: hashes of the full blocks of its prompt."""

    prompt_tokens: int
    output_tokens: int
    blocks: npt.NDArray[np.uint64]
    time_s: float | None
    end_s: float | None
    gap_s: float | None
    trigger: Trigger
    call: ToolCall | None


class Gathered:
    """What is kept of requests that come in file order; ``encoder`` is None for a trace of block ids."""

    def __init__(self, encoder: PromptEncoder | None, block_size: int, *, share_system: bool) -> None:
        self.sessions: dict[SessionId, list[Kept]] = {}
        self.skipped: list[str] = []
        self.block_size = block_size
        self._encoder = encoder
        self._heads = SharedHeads() if share_system else None
        self._slabs = HashSlabs()

    def add(self, request: Request) -> None:
        """Keep ``request``, or say in ``skipped`` why it cannot be served. Mutates."""
        reason = self._of_no_use(request)
        encoded = self._encoded(request) if reason is None else None
        if encoded is not None and not encoded.prompt_tokens:
            reason = "its prompt is empty"
        if encoded is None or reason is not None:
            self.skipped.append(f"line {request.line}, request {request.id!r}: {reason}")
            return
        session = SessionId(request.session or request.id)
        blocks = encoded.blocks[: encoded.prompt_tokens // self.block_size]
        if self._heads is not None and request.hashed is not None:
            blocks = self._heads.shared(session, request.model, request.hashed, blocks)
        trigger = _trigger(request)
        kept = Kept(
            encoded.prompt_tokens,
            max(1, _output_tokens(request) or 0),
            self._slabs.keep(blocks),
            request.time_s,
            request.end_s,
            request.gap_s,
            trigger,
            calls_of(request.messages) if trigger is Trigger.TOOL else None,
        )
        self.sessions.setdefault(session, []).append(kept)

    def sort_by_time(self) -> None:
        """Sessions of which all times are known come in their order, else in that of the file. Mutates."""
        for requests in self.sessions.values():
            if all(request.time_s is not None for request in requests):
                requests.sort(key=lambda request: request.time_s or 0.0)  # stable

    def _encoded(self, request: Request) -> Encoded:
        if request.hashed is not None:
            return encoded_hashes(request.hashed)
        assert self._encoder is not None, "a prompt in a trace of block ids was of no use"
        return encoded_ids(request, self._encoder.ids(request), self.block_size)

    def _of_no_use(self, request: Request) -> str | None:
        """Why ``request`` cannot be served, as far as is known before its prompt is encoded."""
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
        if hashed.block_size != self.block_size:
            return f"blocks of {hashed.block_size} tokens, but of {self.block_size} before"
        if not hashed.hash_ids and hashed.input_tokens >= hashed.block_size:
            return "its block ids are not recorded"
        return None


def _output_tokens(request: Request) -> int | None:
    """Tokens of the answer; None where they are not recorded."""
    if request.answer_token_ids is not None:
        return len(request.answer_token_ids)
    return request.usage.output_tokens


def _trigger(request: Request) -> Trigger:
    after_tool = request.after_tool
    if after_tool is None and request.messages:
        after_tool = request.messages[-1].get("role") in _RESULT_ROLES
    if after_tool is None:
        return Trigger.UNKNOWN
    return Trigger.TOOL if after_tool else Trigger.HUMAN
