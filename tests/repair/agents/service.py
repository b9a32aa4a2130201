"""A stand-in for Devin's API in both versions, which can be told to misbehave at any request."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.replay.recorder.stub import Call, Stub

KEYS = {"v1": "apk_user_hunter2hunter2", "v3": "cog_hunter2hunter2"}
ORGANISATION = "org-abc123"
PULL_REQUEST = "https://github.com/acme/app/pull/7"

Script = Callable[[Call], None]


class Service(Stub):
    """Opens sessions, lists them by tag, and lets each run through ``states``.

    ``before`` holds scripts by request, such as ``{"POST": [script, ...]}``: each is used once, in place
    of the answer. What was opened is in ``opened``, whether or not its answer arrived.
    """

    def __init__(self, version: str) -> None:
        super().__init__()
        self.version = version
        self.base = "/v1/sessions" if version == "v1" else f"/v3/organizations/{ORGANISATION}/sessions"
        self.opened: list[dict[str, Any]] = []
        self.before: dict[str, list[Script]] = {"POST": [], "GET": [], "LIST": []}
        self.states: list[dict[str, Any]] = [working(version), finished(version)]
        self.honours_idempotent = True
        self.hides_sessions = False
        self.script = self.answer

    def answer(self, call: Call) -> None:
        target = urlsplit(call.asked.target)
        assert call.asked.header("authorization") == f"Bearer {KEYS[self.version]}"
        is_list = target.path == self.base
        kind = "POST" if call.command == "POST" else "LIST" if is_list else "GET"
        if self.before[kind]:
            self.before[kind].pop(0)(call)
        elif kind == "POST":
            assert is_list
            call.json(self.open(json.loads(call.asked.body)))
        elif kind == "LIST":
            call.json(self.listed(parse_qs(target.query)["tags"]))
        else:
            assert target.path.startswith(f"{self.base}/devin-")
            state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
            call.json({"session_id": "devin-1", "tags": [], **state})

    def open(self, body: dict[str, Any]) -> dict[str, Any]:
        if self.version == "v1" and self.honours_idempotent and body["idempotent"]:
            for i, known in enumerate(self.opened, 1):
                if known == body:
                    return {"session_id": f"devin-{i}", "url": self.page(i), "is_new_session": False}
        self.opened.append(body)
        i = len(self.opened)
        return {"session_id": f"devin-{i}", "url": self.page(i), "status": "new", "tags": body["tags"]}

    def page(self, i: int) -> str:
        return f"https://app.devin.ai/sessions/{i}"

    def listed(self, tags: list[str]) -> dict[str, Any]:
        rows = [
            {"session_id": f"devin-{i}", "url": self.page(i), "status": "running", "tags": body["tags"]}
            for i, body in enumerate(self.opened, 1)
            if not self.hides_sessions
        ]
        if self.version == "v1":
            return {"sessions": rows}
        return {"items": rows, "end_cursor": None, "has_next_page": False}

    def posts(self) -> int:
        return sum(asked.method == "POST" for asked in self.asked)

    def opens_and(self, then: Script) -> Script:
        """A session is made, and then something else happens than its answer."""

        def script(call: Call) -> None:
            self.open(json.loads(call.asked.body))
            then(call)

        return script


def working(version: str) -> dict[str, Any]:
    if version == "v1":
        return {"status": "running", "status_enum": "working", "pull_request": None}
    return {"status": "running", "status_detail": "working", "pull_requests": [], "acus_consumed": 0.5}


def finished(version: str, **changes: Any) -> dict[str, Any]:
    structured = {"branch": "keepwarm/fix"}
    if version == "v1":
        state: dict[str, Any] = {
            "status": "finished",
            "status_enum": "finished",
            "pull_request": {"url": PULL_REQUEST},
            "structured_output": structured,
            "messages": [{"type": "devin_message", "message": "Done.\nWrite to anna.schmidt@example.com"}],
        }
    else:
        state = {
            "status": "running",
            "status_detail": "finished",
            "pull_requests": [{"pr_url": PULL_REQUEST, "pr_state": "open"}],
            "acus_consumed": 2.25,
            "structured_output": structured,
        }
    return {**state, **changes}


def without_pull_request(version: str, **changes: Any) -> dict[str, Any]:
    none = {"pull_request": None} if version == "v1" else {"pull_requests": []}
    return finished(version, **none, **changes)


def status(code: int, body: Any = None, **headers: str) -> Script:
    return lambda call: call.json(body if body is not None else {"detail": "no"}, code, **headers)


def text(content: bytes) -> Script:
    return lambda call: call.answer(content)


def hang_up(call: Call) -> None:
    call.hang_up()
