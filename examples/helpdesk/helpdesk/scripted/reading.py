"""Finding things in a prompt, wherever they stand."""

from __future__ import annotations

import re
from collections.abc import Sequence

from helpdesk.tickets import ChatMessage


def find_first(pattern: str, messages: Sequence[ChatMessage]) -> str | None:
    """The first group of the first match in any message, in order."""
    for message in messages:
        found = re.search(pattern, message.get("content") or "")
        if found:
            return found[1]
    return None


def last_user_text(messages: Sequence[ChatMessage]) -> str:
    """The newest user message."""
    return next((str(message["content"]) for message in reversed(messages) if message["role"] == "user"), "")
