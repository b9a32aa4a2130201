"""A rendered prompt, and where every character and token of it came from."""

from __future__ import annotations

import enum
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

TokenIds = npt.NDArray[np.int32]
Offsets = npt.NDArray[np.int32]


def member_path(path: str, key: str) -> str:
    """JSON path of a member of the object at ``path``; a key that is no plain name is quoted."""
    is_plain = key.isidentifier() or key.replace("-", "_").isidentifier()
    return f"{path}.{key}" if is_plain else f"{path}[{key!r}]"


class Origin(enum.StrEnum):
    """Whose text it is."""

    APP = "app"  # system, user and tool messages, tool definitions
    MODEL = "model"  # assistant messages: content, reasoning, tool calls
    TEMPLATE = "template"  # printed by the chat template itself


class Span(NamedTuple):
    """Characters ``start:end`` of the rendered text, all of one origin.

    ``path`` is a JSON path into the OpenAI chat body (``messages[0].content``,
    ``tools[2].function.description``), ``None`` for template text. ``value_start`` is the
    character of the value at ``path`` from which this span was copied; -1 where the
    characters are an encoding of the value (JSON escapes, punctuation) and not a copy.
    """

    start: int
    end: int
    origin: Origin
    path: str | None
    value_start: int


class Rendered(msgspec.Struct, frozen=True):
    """Prompt text with its spans: sorted, contiguous, covering ``0:len(text)``."""

    text: str
    spans: tuple[Span, ...]


class Prompt(msgspec.Struct, frozen=True):
    """Token ids of a rendered prompt with the character at which each token starts.

    ``char_starts`` has one entry per token and is sorted; token ``i`` covers
    ``char_starts[i]:char_starts[i + 1]`` (the end of the text for the last one). Tokens of a
    character that was split (byte-level BPE) share its start.
    """

    rendered: Rendered
    ids: TokenIds
    char_starts: Offsets
