"""Devin's sessions API in two versions, as its documentation gives it.

Found on docs.devin.ai (pages under ``api-reference/v1/sessions`` and ``api-reference/v3/sessions``):

- v1: ``POST /v1/sessions`` takes prompt, idempotent, max_acu_limit (above 0), structured_output_schema,
  tags and title, and answers session_id, url and is_new_session. ``GET /v1/sessions/{session_id}``
  answers status, status_enum (working, blocked, expired, finished, suspend_requested,
  suspend_requested_frontend, resume_requested, resume_requested_frontend, resumed, or null),
  pull_request.url, structured_output, messages, tags. ``GET /v1/sessions`` takes limit, offset, tags.
  Keys begin with ``apk_`` or ``apk_user_``.
- v3: ``POST /v3/organizations/{org_id}/sessions`` takes prompt, title, tags, max_acu_limit, repos and
  structured_output_schema, and answers a session: session_id, url, status (new, claimed, running, exit,
  error, suspended, resuming), status_detail (working, waiting_for_user, waiting_for_approval, finished;
  of a suspended one the reason), pull_requests with pr_url and pr_state, acus_consumed,
  structured_output, tags. ``GET .../sessions/{devin_id}`` answers the same. ``GET .../sessions`` takes
  tags, first (up to 200) and after, and answers items, end_cursor, has_next_page. Keys begin with
  ``cog_``; the pages call organisation ids ``org-...``.

Not confirmed, and not relied upon: what v1's ``idempotent`` compares, so sessions are looked for by tag
first; whether a list filtered by several tags wants one or all, so one is sent and every answer checked;
the shape of v1's list (``sessions`` in published clients); limits of rate and ``Retry-After``, which the
pages do not mention; that v3 takes an idempotency key, which its page does not have. Neither version
gives the branch: it is asked for as structured output. v1 does not give the cost.
"""

from __future__ import annotations

import abc
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

from keepwarm._errors import InputError
from keepwarm.repair.agents.wire import LostAnswer, Wire

State = Literal["working", "waiting", "finished", "expired", "cancelled", "failed", "spent"]

_PAGE_SESSIONS = 100
_MOST_PAGES = 20
_BRANCH = re.compile(r"(?!-)(?!.*(?:\.\.|//|@\{))[A-Za-z0-9._/+-]{1,200}(?<![/.])")
_STRUCTURED = {
    "type": "object",
    "properties": {
        "branch": {"type": "string", "description": "The branch of the pull request."},
        "pull_request": {"type": "string", "description": "Its address."},
    },
    "required": ["branch"],
}
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


class Wanted(NamedTuple):
    """A session to be opened; the first tag is what it is found by again, ``repository`` ``acme/app``."""

    prompt: str
    title: str
    tags: tuple[str, ...]
    repository: str
    max_acu_limit: int


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


class SessionsApi(abc.ABC):
    """One version of the API. Every method raises what ``Wire.get`` or ``Wire.post`` does."""

    repeats_safely: bool
    """Whether a request to open that was sent already may be sent once more."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    @abc.abstractmethod
    def open(self, wanted: Wanted) -> Opened:
        """Open a session. Mutates, over there."""

    @abc.abstractmethod
    def session(self, session: str) -> Session:
        """How it stands. Does not mutate."""

    @abc.abstractmethod
    def _page(self, tag: str, after: str | None) -> tuple[list[Opened], str | None]:
        """Some sessions, and where to go on; None at the end."""

    def find(self, tag: str) -> list[Opened]:
        """The sessions that carry ``tag``. Does not mutate."""
        found: list[Opened] = []
        after = None
        for _ in range(_MOST_PAGES):
            page, after = self._page(tag, after)
            found += [opened for opened in page if tag in opened.tags]
            if after is None:
                break
        return found


class V1(SessionsApi):
    """The previous version: personal and service keys."""

    repeats_safely = True

    def open(self, wanted: Wanted) -> Opened:
        body = {
            "prompt": wanted.prompt,
            "title": wanted.title,
            "tags": list(wanted.tags),
            "idempotent": True,
            "max_acu_limit": wanted.max_acu_limit,
            "structured_output_schema": _STRUCTURED,
        }
        return self._wire.post("/v1/sessions", _opened, body)

    def session(self, session: str) -> Session:
        return self._wire.get(f"/v1/sessions/{quote(session, safe='')}", _v1_session)

    def _page(self, tag: str, after: str | None) -> tuple[list[Opened], str | None]:
        offset = int(after or 0)

        def parse(answer: Any) -> tuple[list[Opened], str | None]:
            rows = answer if isinstance(answer, list) else _list(_object(answer), "sessions")
            more = str(offset + _PAGE_SESSIONS) if len(rows) == _PAGE_SESSIONS else None
            return [_opened(row) for row in rows], more

        query = {"limit": _PAGE_SESSIONS, "offset": offset, "tags": [tag]}
        return self._wire.get("/v1/sessions", parse, query)


class V3(SessionsApi):
    """The current version: service users of an organisation."""

    repeats_safely = False

    def __init__(self, wire: Wire, organisation: str) -> None:
        super().__init__(wire)
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,100}", organisation):
            raise InputError(
                f"--organisation {organisation!r} is no id of an organisation; it begins with 'org-'"
            )
        self._path = f"/v3/organizations/{organisation}/sessions"

    def open(self, wanted: Wanted) -> Opened:
        body = {
            "prompt": wanted.prompt,
            "title": wanted.title,
            "tags": list(wanted.tags),
            "repos": [wanted.repository],
            "max_acu_limit": wanted.max_acu_limit,
            "structured_output_schema": _STRUCTURED,
        }
        return self._wire.post(self._path, _opened, body)

    def session(self, session: str) -> Session:
        return self._wire.get(f"{self._path}/{quote(session, safe='')}", _v3_session)

    def _page(self, tag: str, after: str | None) -> tuple[list[Opened], str | None]:
        def parse(answer: Any) -> tuple[list[Opened], str | None]:
            document = _object(answer)
            rows = [_opened(row) for row in _list(document, "items")]
            cursor = document.get("end_cursor")
            more = document.get("has_next_page") is True and isinstance(cursor, str)
            return rows, cursor if more else None

        query: dict[str, Any] = {"first": _PAGE_SESSIONS, "tags": [tag]}
        return self._wire.get(self._path, parse, query if after is None else {**query, "after": after})


def _v1_session(answer: Any) -> Session:
    document = _object(answer)
    status = _text(document, "status_enum") or _text(document, "status") or ""
    pull_request = document.get("pull_request")
    url = _text(_object(pull_request), "url") if pull_request is not None else None
    return Session(
        state=_V1_STATES.get(status, "working"),
        said=status or "unknown",
        pull_requests=(url,) if url else (),
        branch=_branch(document),
        acus=None,
        messages=tuple(_messages(document)),
    )


def _v3_session(answer: Any) -> Session:
    document = _object(answer)
    status = _text(document, "status")
    if status is None:
        raise LostAnswer("Devin's answer has no status; is this its API?")
    detail = _text(document, "status_detail") or ""
    rows = _list(document, "pull_requests") if document.get("pull_requests") is not None else []
    urls = [_text(_object(row), "pr_url") for row in rows]
    acus = document.get("acus_consumed")
    if isinstance(acus, bool) or not isinstance(acus, (int, float)):
        acus = None
    return Session(
        state=_V3_DETAILS.get((status, detail)) or _V3_STATES.get(status, "working"),
        said=f"{status}, {detail}" if detail else status,
        pull_requests=tuple(url for url in urls if url),
        branch=_branch(document),
        acus=None if acus is None else float(acus),
        messages=(),
    )


def _opened(answer: Any) -> Opened:
    document = _object(answer)
    session = _text(document, "session_id")
    if not session or len(session) > 200 or not session.isprintable():
        raise LostAnswer("Devin's answer has no session_id; is this its API?")
    tags: Sequence[Any] = document.get("tags") or ()
    is_list = isinstance(tags, list)
    return Opened(
        session, _text(document, "url"), tuple(tag for tag in tags if isinstance(tag, str)) if is_list else ()
    )


def _branch(document: Mapping[str, Any]) -> str | None:
    structured = document.get("structured_output")
    branch = structured.get("branch") if isinstance(structured, dict) else None
    return branch if isinstance(branch, str) and _BRANCH.fullmatch(branch) else None


def _messages(document: Mapping[str, Any]) -> list[str]:
    rows = document.get("messages")
    texts = [row.get("message") for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    return [text for text in texts if isinstance(text, str)]


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise LostAnswer(f"Devin's answer is {_kind(value)} where an object belongs; is this its API?")
    return value


def _list(document: Mapping[str, Any], name: str) -> list[Any]:
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
