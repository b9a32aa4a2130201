"""A session as a closed loop: its next request comes when the answer is there and the tool has run."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from keepwarm.policies.base import BlockHash
from keepwarm.policies.sessions import SessionId
from keepwarm.reuse.calls import ToolCall


class Trigger(Enum):
    """Who made a session send its next request. Unknown: nobody recorded it, the server is told nothing."""

    TOOL = "tool"
    HUMAN = "human"
    UNKNOWN = "unknown"


class Turn(NamedTuple):
    """One request, and what came before it.

    ``gap_s`` is the time between the answer before and this request, 0 for the first; ``trigger`` is what
    it was spent on, and ``call`` the tool, where known. ``blocks`` are hashes of the full blocks of the
    prompt, one namespace over all sessions of a workload: equal hashes are shared.
    """

    prompt_tokens: int
    output_tokens: int
    blocks: Sequence[BlockHash]
    gap_s: float
    trigger: Trigger
    call: ToolCall | None = None


class SessionTrace(NamedTuple):
    """One session, all its requests in order; at least one. ``start_s``: when it starts by the recording."""

    id: SessionId
    start_s: float
    turns: Sequence[Turn]


class Workload(NamedTuple):
    """Sessions of one block size, in the order of the recording. ``skipped``: one line for each left out."""

    block_size: int
    sessions: Sequence[SessionTrace]
    skipped: Sequence[str] = ()
