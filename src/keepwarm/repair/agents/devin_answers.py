"""What Devin answers, in both versions of its API: read strictly, unknown states are work going on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from keepwarm.repair.agents.wire import LostAnswer

State = Literal["working", "waiting", "finished", "expired", "cancelled", "failed", "spent"]

_MOST_ACUS = 1e12
_BRANCH = re.compile(r"(?!-)(?!.*(?:\.\.|//|@\{))[A-Za-z0-9._/+-]{1,200}(?<![/.])")
_V1_STATES: dict[str, State] = {
    "blocked": "waiting",
    "finished": "finished",
    "expired": "expired",
}
_V3_STATES: dict[str, State] = {"exit": "finished", "error": "failed", "suspended": "expired"}
_V3_DETAILS: dict[tuple[str, str], State] = {
    ("running", "waiting_for_user"): "waiting",
    ("running", "waiting_for_approval"): "waiting",
    ("running", "finished"): "finished",
    ("suspended", "user_request"): "cancelled",
    ("suspended", "error"): "failed",
    **{
        ("suspended", reason): "spent"
        for reason in (
            "usage_limit_exceeded",
            "out_of_credits",
            "out_of_quota",
            "no_quota_allocation",
            "payment_declined",
            "org_usage_limit_exceeded",
            "total_session_limit_exceeded",
        )
    },
}


class Opened(NamedTuple):
    """A session that is there."""

    id: str
    url: str | None
    tags: tuple[str, ...] = ()


class Session(NamedTuple):
    """A session as it is now; ``said`` is its state in the service's words."""

    state: State
    said: str
    pull_requests: tuple[str, ...]
    branch: str | None
    acus: float | None
    messages: tuple[str, ...]


def v1_session(answer: Any) -> Session:
    """A session as version 1 describes it. Raises LostAnswer: it is none."""
    document = object_of(answer)
    status = _text(document, "status_enum") or _text(document, "status") or ""
    pull_request = document.get("pull_request")
    url = _text(object_of(pull_request), "url") if pull_request is not None else None
    return Session(
        state=_V1_STATES.get(status, "working"),
        said=status or "unknown",
        pull_requests=(url,) if url else (),
        branch=_branch(document),
        acus=None,
        messages=tuple(_messages(document)),
    )


def v3_session(answer: Any) -> Session:
    """A session as version 3 describes it. Raises LostAnswer: it is none."""
    document = object_of(answer)
    status = _text(document, "status")
    if status is None:
        raise LostAnswer("Devin's answer has no status; is this its API?")
    detail = _text(document, "status_detail") or ""
    rows = list_of(document, "pull_requests") if document.get("pull_requests") is not None else []
    urls = [_text(object_of(row), "pr_url") for row in rows]
    return Session(
        state=_V3_DETAILS.get((status, detail)) or _V3_STATES.get(status, "working"),
        said=f"{status}, {detail}" if detail else status,
        pull_requests=tuple(url for url in urls if url),
        branch=_branch(document),
        acus=_cost(document.get("acus_consumed")),
        messages=(),
    )


def opened_session(answer: Any) -> Opened:
    """What both versions say of a session that is there. Raises LostAnswer: nothing that can be asked for."""
    document = object_of(answer)
    session = _text(document, "session_id")
    if not session or len(session) > 200 or not session.isprintable():
        raise LostAnswer("Devin's answer has no session_id; is this its API?")
    tags = document.get("tags")
    texts = tuple(tag for tag in tags if isinstance(tag, str)) if isinstance(tags, list) else ()
    return Opened(session, _text(document, "url"), texts)


def _cost(acus: Any) -> float | None:
    """A number that can be a cost; NaN, infinity and integers that no float holds are none."""
    is_number = isinstance(acus, (int, float)) and not isinstance(acus, bool)
    return float(acus) if is_number and 0 <= acus < _MOST_ACUS else None


def _branch(document: Mapping[str, Any]) -> str | None:
    structured = document.get("structured_output")
    branch = structured.get("branch") if isinstance(structured, dict) else None
    return branch if isinstance(branch, str) and _BRANCH.fullmatch(branch) else None


def _messages(document: Mapping[str, Any]) -> list[str]:
    rows = document.get("messages")
    texts = [row.get("message") for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    return [text for text in texts if isinstance(text, str)]


def object_of(value: Any) -> dict[str, Any]:
    """``value``, which must be an object. Raises LostAnswer."""
    if not isinstance(value, dict):
        raise LostAnswer(f"Devin's answer is {_kind(value)} where an object belongs; is this its API?")
    return value


def list_of(document: Mapping[str, Any], name: str) -> list[Any]:
    """What ``document`` has as ``name``, which must be a list. Raises LostAnswer."""
    value = document.get(name)
    if not isinstance(value, list):
        raise LostAnswer(f"Devin's answer has {_kind(value)} as {name!r}, not a list; is this its API?")
    return value


def _text(document: Mapping[str, Any], name: str) -> str | None:
    value = document.get(name)
    if value is not None and not isinstance(value, str):
        raise LostAnswer(f"Devin's answer has {_kind(value)} as {name!r}, not a text; is this its API?")
    return value


def _kind(value: Any) -> str:
    return "nothing" if value is None else f"a {type(value).__name__}"
