"""A small client for OpenAI-compatible chat servers."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any, Protocol

from helpdesk.errors import UpstreamError
from helpdesk.tickets import ChatMessage

ChatBody = dict[str, Any]
ChatResponse = dict[str, Any]


class Transport(Protocol):
    """Carries one chat completion request to something that answers it."""

    def send(self, body: ChatBody, session: str) -> ChatResponse:
        """Answer ``body``; ``session`` names the conversation. Raises ``UpstreamError``."""
        ...


class HttpTransport:
    """Sends requests to ``<base_url>/chat/completions``; raises ``UpstreamError`` for other than HTTP."""

    def __init__(self, base_url: str, api_key: str = "", timeout_s: float = 120.0) -> None:
        if not base_url.startswith(("http://", "https://")):
            raise UpstreamError(f"{base_url!r} is no http address, for example http://127.0.0.1:8000/v1")
        self._url = base_url.rstrip("/") + "/chat/completions"
        self._api_key = api_key
        self._timeout_s = timeout_s

    def send(self, body: ChatBody, session: str) -> ChatResponse:
        """Answer ``body`` over HTTP; raises ``UpstreamError``."""
        headers = {"Content-Type": "application/json", "X-Session-Id": session}
        if self._api_key:
            headers["Authorization"] = f"Bearer {self._api_key}"
        payload = json.dumps(body, ensure_ascii=False).encode()
        request = urllib.request.Request(self._url, payload, headers, method="POST")  # noqa: S310 - checked above
        try:
            with urllib.request.urlopen(request, timeout=self._timeout_s) as answer:  # noqa: S310
                parsed = json.load(answer)
        except (urllib.error.URLError, TimeoutError, ConnectionError, ValueError) as error:
            raise UpstreamError(f"{self._url}: {error}") from error
        if not isinstance(parsed, dict):
            raise UpstreamError(f"{self._url}: the answer is no JSON object")
        return parsed


class ChatClient:
    """Asks one model, over an exchangeable transport."""

    def __init__(self, transport: Transport, model: str) -> None:
        self._transport = transport
        self._model = model

    def complete(
        self,
        messages: list[ChatMessage],
        *,
        session: str,
        tools: list[dict[str, Any]] | None = None,
        **params: Any,
    ) -> ChatMessage:
        """The assistant message that answers ``messages``, as the server sent it.

        Tool-call arguments stay the very string the model wrote, so that a replayed history is what the
        model saw. Raises ``UpstreamError``.
        """
        body: ChatBody = {"model": self._model, "messages": messages}
        if tools:
            body["tools"] = tools
        body.update(params)
        response = self._transport.send(body, session)
        try:
            message = response["choices"][0]["message"]
            kept: ChatMessage = {"role": "assistant", "content": message.get("content")}
        except (KeyError, IndexError, TypeError, AttributeError):
            raise UpstreamError("the answer carries no message") from None
        if message.get("tool_calls"):
            kept["tool_calls"] = message["tool_calls"]
        return kept
