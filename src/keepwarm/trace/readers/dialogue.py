"""Chat messages put together from smaller items, as the Responses API, Anthropic and agents log them."""

from __future__ import annotations

from typing import Any

from keepwarm.trace.readers.fields import to_json_text
from keepwarm.trace.records import JsonObject

Content = str | list[JsonObject]


class Dialogue:
    """A growing list of chat messages; consecutive items of the model become one message.

    ``messages`` may be copied at any time. A message in it is still added to until the next
    ``say`` or ``close``.
    """

    def __init__(self) -> None:
        self.messages: list[JsonObject] = []
        self._open: JsonObject | None = None

    def say(self, role: str, content: Content, **extra: Any) -> None:
        """Add a message that is not the model's."""
        self.close()
        self.messages.append({"role": role, **extra, "content": content})

    def model_text(self, content: Content) -> None:
        """Add text of the model."""
        message = self._assistant(fresh="tool_calls")
        if message["content"] is not None:
            self.close()
            message = self._assistant()
        message["content"] = content

    def model_reasoning(self, text: str) -> None:
        """Add reasoning of the model, which comes before its text and calls."""
        if not text:
            return
        message = self._assistant(fresh="tool_calls")
        if message["content"] is not None:
            self.close()
            message = self._assistant()
        earlier = message.get("reasoning_content")
        message["reasoning_content"] = f"{earlier}\n{text}" if earlier else text

    def model_call(self, call_id: str | None, name: str, arguments: object) -> None:
        """Add a tool call of the model; arguments that are no text are written as JSON."""
        text = (
            arguments if isinstance(arguments, str) else to_json_text({} if arguments is None else arguments)
        )
        call: JsonObject = {} if call_id is None else {"id": call_id}
        call |= {"type": "function", "function": {"name": name, "arguments": text}}
        self._assistant().setdefault("tool_calls", []).append(call)

    @property
    def is_open(self) -> bool:
        """Whether the last message is the model's and may still be added to."""
        return self._open is not None

    def close(self) -> None:
        """End the model's current message."""
        self._open = None

    def _assistant(self, fresh: str | None = None) -> JsonObject:
        """The open message of the model; a new one if there is none or it has the key ``fresh``."""
        if self._open is None or (fresh is not None and fresh in self._open):
            self._open = {"role": "assistant", "content": None}
            self.messages.append(self._open)
        return self._open


def text_or_parts(parts: list[JsonObject]) -> Content:
    """A single part of plain text as that text, as most applications would have sent it."""
    if not parts:
        return ""
    if len(parts) == 1 and parts[0].get("type") == "text":
        text: str = parts[0]["text"]
        return text
    return parts
