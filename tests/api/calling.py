"""The whole application as it is served, called in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from keepwarm.api.server import served_app
from keepwarm.api.settings import Settings

TOKEN = "a-token-of-the-tests"
PORT = 8765
AUTHORITY = f"127.0.0.1:{PORT}"
ORIGIN = f"http://{AUTHORITY}"


def visitor(root: Path, *, said: list[str] | None = None, **settings: Any) -> TestClient:
    """Somebody who has no token yet; ``said`` gets what the terminal would be told."""
    heard = [] if said is None else said
    app = served_app(Settings(root=root, token=TOKEN, **settings), PORT, heard.append)
    return TestClient(app, base_url=ORIGIN, follow_redirects=False)


def client(root: Path, **settings: Any) -> TestClient:
    """A program that shows the token."""
    caller = visitor(root, **settings)
    caller.headers["authorization"] = f"Bearer {TOKEN}"
    return caller


def ids(caller: TestClient, kind: str) -> list[str]:
    """Of the results of that kind, newest first."""
    answer = caller.get("/api/results", params={"kind": kind})
    assert answer.status_code == 200, answer.text
    return [item["id"] for item in answer.json()["items"]]


def problem(answer: Any, status: int) -> str:
    """The one line of an answer that is none."""
    assert answer.status_code == status, answer.text
    document = answer.json()
    assert list(document) == ["problem"]
    line: str = document["problem"]
    assert line.strip() == line
    assert "\n" not in line
    assert "Traceback" not in line
    return line
