"""What a session does between two requests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

MOST_TOOL_CHARACTERS = 200
MOST_ARGUMENT_CHARACTERS = 2_000  # what tells calls apart stands in front; the rest is content of files


class ToolCall(NamedTuple):
    """A call that the model asked for: ``arguments`` is their text, as JSON or a bare command."""

    tool: str
    arguments: str

    def bounded(self) -> ToolCall:
        """The same, cut where it is too long, and without halves of surrogate pairs: it can be encoded."""
        return ToolCall(
            _encodable(self.tool[:MOST_TOOL_CHARACTERS]),
            _encodable(self.arguments[:MOST_ARGUMENT_CHARACTERS]),
        )


def joined(calls: Sequence[ToolCall]) -> ToolCall | None:
    """Calls made side by side as one, since the session comes back when the last of them has ended.

    Tools by name, each once; arguments in the order of the calls, one call a line. None of none; bounded.
    """
    short = [call.bounded() for call in calls]  # one may have megabytes
    if len(short) < 2:
        return short[0] if short else None
    tools = sorted({call.tool for call in short})
    return ToolCall("+".join(tools), "\n".join(call.arguments for call in short)).bounded()


def _encodable(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
