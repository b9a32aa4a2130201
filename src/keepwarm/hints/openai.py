"""An OpenAI client that says which session its requests belong to, and what the session does in between.

    client = wrap(OpenAI(base_url=...), "run-17", "http://127.0.0.1:8010", token)

Answers and errors are those of the client that was wrapped.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Iterator, Sequence
from typing import Any, Self, TypeVar

from keepwarm.hints.answers import StreamedAnswer, hint_of_answer
from keepwarm.hints.client import HintClient

SESSION_HEADER = "X-Session-ID"
Client = TypeVar("Client")  # openai.OpenAI or openai.AsyncOpenAI, which is not imported here


def wrap(client: Client, session_id: str, control_url: str | Sequence[str], token: str) -> Client:
    """A copy of ``client`` for one session; the copy shares the connections.

    Each ``chat.completions.create``, streamed or not, is sent with ``session_id`` (a caller's own in
    ``extra_body`` wins), and with the header ``X-Session-ID``, which routers go by. An answer with tool calls
    tells the servers that they run from now on, one that could have had some and has none that a person is to
    write; ``close`` that the session is over. ``control_url`` lists the endpoints of all replicas behind a
    router. Raises InputError, see ``HintClient``; from then on hints change nothing in what the client does.
    """
    hints = HintClient(control_url, token)
    copy: Any = client.copy()  # type: ignore[attr-defined]
    completions = copy.chat.completions
    completions.create = _Create(completions.create, session_id, hints)
    copy.close = _Close(copy.close, session_id, hints)
    return copy  # type: ignore[no-any-return]


class _Close:
    """Ends session and client."""

    def __init__(self, stock: Any, session_id: str, hints: HintClient) -> None:
        self._stock = stock
        self._session_id = session_id
        self._hints = hints

    def __call__(self) -> Any:
        self._hints.finished(self._session_id)
        self._hints.close()
        return self._stock()


class _Create:
    """``chat.completions.create`` of either client."""

    def __init__(self, stock: Any, session_id: str, hints: HintClient) -> None:
        self.__wrapped__ = stock
        self._session_id = session_id
        self._hints = hints

    def __call__(self, *args: Any, **options: Any) -> Any:
        body = options.get("extra_body")
        extra_body = {"session_id": self._session_id, **(body if isinstance(body, dict) else {})}
        session_id = str(extra_body["session_id"])
        options["extra_body"] = extra_body
        options["extra_headers"] = _with_session(options.get("extra_headers"), session_id)
        answer = self.__wrapped__(*args, **options)
        teller = _Teller(self._hints, session_id, has_tools=bool(options.get("tools")))
        return _awaited(answer, teller) if inspect.isawaitable(answer) else _told(answer, teller)


def _with_session(headers: Any, session_id: str) -> Any:
    """Headers that name the session, unless the caller's do or HTTP cannot carry it. Does not mutate."""
    given = dict(headers or {})
    is_named = any(name.lower() == SESSION_HEADER.lower() for name in given)
    can_be_sent = session_id.isascii() and session_id.isprintable() and session_id == session_id.strip()
    if is_named or not can_be_sent:
        return headers
    return {SESSION_HEADER: session_id, **given}


class _Teller:
    """Of one answer."""

    def __init__(self, hints: HintClient, session_id: str, *, has_tools: bool) -> None:
        self._hints = hints
        self._session_id = session_id
        self._has_tools = has_tools
        self._streamed = StreamedAnswer(has_tools=has_tools)

    def chunk(self, chunk: object) -> None:
        """The next of a stream. Never raises."""
        try:
            told = self._streamed.add(chunk)
        except Exception:  # noqa: BLE001 - whatever a server sends, the application gets it
            return
        if told is not None:
            self._hints.tell(self._session_id, told)

    def whole(self, answer: object) -> None:
        """All of it. Returns at once, never raises."""
        self._hints.later(self._session_id, lambda: hint_of_answer(answer, has_tools=self._has_tools))


async def _awaited(answer: Awaitable[Any], teller: _Teller) -> Any:
    return _told(await answer, teller)


def _told(answer: Any, teller: _Teller) -> Any:
    if hasattr(answer, "__aiter__"):
        return _AsyncChunks(answer, teller)
    if hasattr(answer, "__next__"):
        return _Chunks(answer, teller)
    teller.whole(answer)
    return answer


class _Delegated:
    """All that a stream has beside its chunks."""

    def __init__(self, stream: Any, teller: _Teller) -> None:
        self._stream = stream
        self._teller = teller

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Chunks(_Delegated):
    """A stream that is read as it comes."""

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        chunk = next(self._stream)
        self._teller.chunk(chunk)
        return chunk

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._stream.close()


class _AsyncChunks(_Delegated):
    """The same with an event loop."""

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        chunk = await anext(self._stream)
        self._teller.chunk(chunk)
        return chunk

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self._stream.close()
