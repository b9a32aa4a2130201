"""What a session does between two requests."""

from __future__ import annotations

from typing import NamedTuple


class ToolCall(NamedTuple):
    """A call that the model asked for: ``arguments`` is their text, as JSON or a bare command."""

    tool: str
    arguments: str
