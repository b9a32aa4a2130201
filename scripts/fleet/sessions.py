"""Scripted sessions through the router: prompts that grow, and of each answer which replica gave it."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import httpx2

from scripts.fleet import metrics
from scripts.fleet.local import MODEL

SESSION_HEADER = "X-Session-ID"
CUT_OFF = 0  # in place of a status: the connection ended before the answer did
_WORDS = 20_000  # ids below that are ordinary words of every model here


class Turn(NamedTuple):
    """A request of a session. ``prompt`` holds token ids; ``is_streamed`` says how its answer comes."""

    session: str
    prompt: list[int]
    answer_tokens: int
    is_streamed: bool = False


class Answer(NamedTuple):
    """What came of a turn: an HTTP status or ``CUT_OFF``, and from whom; tokens are 0 if none were told."""

    session: str
    status: int
    replica: str
    took_s: float
    prompt_tokens: int
    cached_tokens: int
    error: str


class Context:
    """A session's growing prompt; ``shared`` begins the prompts of all sessions of a seed."""

    def __init__(self, name: str, seed: str, first_tokens: int, shared: Sequence[int] = ()) -> None:
        self.name = name
        self._rng = random.Random(f"{seed} {name}")
        self._prompt = [*shared, *self._more(first_tokens)]

    def turn(self, more_tokens: int, answer_tokens: int, *, is_streamed: bool = False) -> Turn:
        """The next request, ``more_tokens`` longer than the one before. Mutates."""
        self._prompt = [*self._prompt, *self._more(more_tokens)]
        return Turn(self.name, self._prompt, answer_tokens, is_streamed)

    def _more(self, tokens: int) -> list[int]:
        return self._rng.choices(range(100, _WORDS), k=tokens)


def ask(
    base_url: str,
    turn: Turn,
    *,
    is_named_in_header: bool = True,
    patience_s: float = 120.0,
    begun: threading.Event | None = None,
) -> Answer:
    """Send it, its session named in the body, and in the header for routers; ``begun`` is set as it begins.

    Whatever a server or router does, it does not raise.
    """
    body = {
        "model": MODEL,
        "prompt": turn.prompt,
        "max_tokens": turn.answer_tokens,
        "ignore_eos": True,
        "temperature": 0,
        "session_id": turn.session,
        "stream": turn.is_streamed,
    }
    if turn.is_streamed:
        body["stream_options"] = {"include_usage": True}
    headers = {SESSION_HEADER: turn.session} if is_named_in_header else {}
    started_s = time.monotonic()
    status, error = CUT_OFF, ""
    told: dict[str, Any] = {}
    try:
        with (
            httpx2.Client(
                base_url=base_url, timeout=patience_s, verify=metrics.NO_TLS, trust_env=False
            ) as client,
            client.stream("POST", "/v1/completions", json=body, headers=headers) as answer,
        ):
            if begun is not None:
                begun.set()
            text = answer.read().decode()
        if answer.status_code == httpx2.codes.OK:
            told = _object(_last_chunk(text) if turn.is_streamed else text)
        else:
            error = text[:200]
        status = answer.status_code
    except (httpx2.HTTPError, ValueError) as failure:  # cut off, or no answer
        error = repr(failure)
    took_s = time.monotonic() - started_s
    usage = told.get("usage") or {}
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
    return Answer(
        turn.session, status, told.get("model", ""), took_s, usage.get("prompt_tokens", 0), cached, error
    )


def ask_all(base_url: str, turns: Sequence[Turn]) -> list[Answer]:
    """All at once; answers in the order of the turns."""
    with ThreadPoolExecutor(len(turns)) as pool:
        return list(pool.map(lambda turn: ask(base_url, turn), turns))


def _last_chunk(stream: str) -> str:
    """Of a stream that came whole: it has the usage."""
    chunks = [line.removeprefix("data: ") for line in stream.splitlines() if line.startswith("data: ")]
    if len(chunks) < 2 or chunks[-1] != "[DONE]":
        raise httpx2.RemoteProtocolError("the stream ended without [DONE]")
    return chunks[-2]


def _object(text: str) -> dict[str, Any]:
    """Raises ValueError: it is no JSON object."""
    told = json.loads(text)
    if not isinstance(told, dict):
        raise ValueError(f"no object: {text[:200]!r}")
    return told
