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
from typing import Any, NamedTuple
from urllib.parse import quote

from keepwarm._errors import InputError
from keepwarm.repair.agents.devin_answers import (
    Opened,
    Session,
    list_of,
    object_of,
    opened_session,
    v1_session,
    v3_session,
)
from keepwarm.repair.agents.wire import Wire

_PAGE_SESSIONS = 100
_MOST_PAGES = 20
_STRUCTURED = {
    "type": "object",
    "properties": {
        "branch": {"type": "string", "description": "The branch of the pull request."},
        "pull_request": {"type": "string", "description": "Its address."},
    },
    "required": ["branch"],
}


class Wanted(NamedTuple):
    """A session to be opened; the first tag is what it is found by again, ``repository`` ``acme/app``."""

    prompt: str
    title: str
    tags: tuple[str, ...]
    repository: str
    max_acu_limit: int


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
        return self._wire.post("/v1/sessions", opened_session, body)

    def session(self, session: str) -> Session:
        return self._wire.get(f"/v1/sessions/{quote(session, safe='')}", v1_session)

    def _page(self, tag: str, after: str | None) -> tuple[list[Opened], str | None]:
        offset = int(after or 0)

        def parse(answer: Any) -> tuple[list[Opened], str | None]:
            rows = answer if isinstance(answer, list) else list_of(object_of(answer), "sessions")
            more = str(offset + _PAGE_SESSIONS) if len(rows) == _PAGE_SESSIONS else None
            return [opened_session(row) for row in rows], more

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
        return self._wire.post(self._path, opened_session, body)

    def session(self, session: str) -> Session:
        return self._wire.get(f"{self._path}/{quote(session, safe='')}", v3_session)

    def _page(self, tag: str, after: str | None) -> tuple[list[Opened], str | None]:
        def parse(answer: Any) -> tuple[list[Opened], str | None]:
            document = object_of(answer)
            rows = [opened_session(row) for row in list_of(document, "items")]
            cursor = document.get("end_cursor")
            more = document.get("has_next_page") is True and isinstance(cursor, str)
            return rows, cursor if more else None

        query: dict[str, Any] = {"first": _PAGE_SESSIONS, "tags": [tag]}
        return self._wire.get(self._path, parse, query if after is None else {**query, "after": after})
