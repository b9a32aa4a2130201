"""A hint: what is told of one session, checked before anything believes it."""

from __future__ import annotations

import json
import math
import time
from enum import Enum
from typing import Any, NamedTuple

from keepwarm.policies.sessions import SessionId
from keepwarm.reuse.calls import ToolCall

MOST_BODY_BYTES = 16 * 1024
MOST_ID_CHARACTERS = 256
MOST_ELAPSED_S = 86_400.0
_CLOCK_SLACK_S = 60.0  # how far ahead of ours a client's clock may be
_FIELDS = frozenset(("tool", "arguments", "started", "elapsed_s", "idle", "awaits", "finished"))


class Refused(Exception):
    """What a client sent cannot be taken: the HTTP status and one line for it."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


class Kind(Enum):
    """What a session is said to do."""

    TOOL = "tool"
    IDLE = "idle"
    HUMAN = "awaits"
    FINISHED = "finished"


class Hint(NamedTuple):
    """``call`` runs, for ``elapsed_s`` when the hint came in; ``received_s`` is by ``time.monotonic``."""

    session: SessionId
    kind: Kind
    call: ToolCall | None
    elapsed_s: float
    received_s: float


def read_hint(session: SessionId, body: bytes) -> Hint:
    """The hint that a request to ``/keepwarm/sessions/{session}`` with this body gives. Raises Refused."""
    told = _object(body)
    unknown = sorted(told.keys() - _FIELDS)
    if unknown:
        raise Refused(400, f"unknown field {unknown[0][:40]!r}; known are {', '.join(sorted(_FIELDS))}")
    kinds = [kind for kind in Kind if kind.value in told]
    if len(kinds) != 1:
        raise Refused(400, "exactly one of 'tool', 'idle', 'awaits' and 'finished' has to be there")
    kind = kinds[0]
    if kind is not Kind.TOOL:
        wanted: object = "human" if kind is Kind.HUMAN else True
        if type(told[kind.value]) is not type(wanted) or told[kind.value] != wanted:  # 1 == True
            raise Refused(400, f"{kind.value!r} takes {json.dumps(wanted)} and nothing else")
        if len(told) > 1:
            raise Refused(400, f"nothing else may stand beside {kind.value!r}")
        return Hint(session, kind, None, 0.0, time.monotonic())
    call = ToolCall(_tool(told["tool"]), _arguments(told.get("arguments", ""))).bounded()
    return Hint(session, kind, call, _elapsed_s(told), time.monotonic())


def _object(body: bytes) -> dict[str, Any]:
    try:
        told = json.loads(body.decode())
    except (ValueError, RecursionError):  # UnicodeDecodeError is a ValueError; so is a number of 5,000 digits
        raise Refused(400, "the body is no JSON in UTF-8") from None
    if not isinstance(told, dict):
        raise Refused(400, "the body is no JSON object")
    return told


def _tool(told: object) -> str:
    if not isinstance(told, str) or not told.strip():
        raise Refused(400, "'tool' is the name of the tool, a text that is not empty")
    return told


def _arguments(told: object) -> str:
    if isinstance(told, str):
        return told
    if isinstance(told, dict):
        return json.dumps(told, ensure_ascii=False, separators=(",", ":"))  # in the client's own order
    raise Refused(400, "'arguments' is a text or a JSON object")


def _elapsed_s(told: dict[str, Any]) -> float:
    if "started" in told and "elapsed_s" in told:
        raise Refused(400, "one of 'started' and 'elapsed_s' is enough")
    if "started" in told:
        elapsed_s = time.time() - _number(told, "started")
        if elapsed_s < -_CLOCK_SLACK_S:
            raise Refused(400, "'started' is in the future; it is Unix time in seconds")
    else:
        elapsed_s = _number(told, "elapsed_s") if "elapsed_s" in told else 0.0
        if elapsed_s < 0:
            raise Refused(400, "'elapsed_s' is negative; it is seconds since the tool started")
    if elapsed_s > MOST_ELAPSED_S:
        raise Refused(400, f"the tool started more than {MOST_ELAPSED_S:.0f} s ago")
    return max(0.0, elapsed_s)


def _number(told: dict[str, Any], name: str) -> float:
    value = told[name]
    if type(value) in (int, float):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
    raise Refused(400, f"{name!r} is a number of seconds")
