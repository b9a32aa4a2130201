"""What a server says about a failure, without what it quotes of the request."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

_LEAST_CHARACTERS = 10  # shorter overlaps are ordinary words
_QUOTED = "‹request›"


def unquoted(message: str, body: dict[str, Any]) -> str:
    """``message`` with every stretch that ``body`` has as well replaced by ``‹request›``."""
    texts = list(_texts(body))
    source = "\n".join((*texts, *(json.dumps(text) for text in texts)))
    out: list[str] = []
    at = 0
    while at < len(message):
        end = at + _LEAST_CHARACTERS
        if end > len(message) or message[at:end] not in source:
            out.append(message[at])
            at += 1
            continue
        while end < len(message) and message[at : end + 1] in source:
            end += 1
        out.append(_QUOTED)
        at = end
    return "".join(out)


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
