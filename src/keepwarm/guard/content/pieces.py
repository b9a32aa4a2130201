"""A message cut into pieces: the smallest stretches of text that a repair may move but never change.

A piece is a line, or a sentence of a line. White space between pieces is not part of any: blank lines, line
ends, the space after a full stop. White space inside a piece, indentation included, is compared as it is.
What is not text (tool calls, pictures, names) is one piece per field, as canonical JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from keepwarm.trace.records import JsonObject

TEXT = ""
_LINE_END = re.compile(r"\r\n|\r|\n")
# A full stop ends a sentence after two letters: not in "1." and "e.g.".
_SENTENCE_END = re.compile(r"(?<=[!?…])[ \t]+|(?<=[^\W\d_][^\W\d_][.])[ \t]+|(?<=[。！？])")


class Piece(NamedTuple):
    """A stretch of text, or the value of a field; ``field`` is empty for text."""

    field: str
    text: str


class Reading(NamedTuple):
    """What the task's cause lets differ: amounts of white space, the order of keys in JSON."""

    any_space: bool = False
    any_key_order: bool = False
    any_argument_order: bool = False


def reading_for(cause: str) -> Reading:
    """How texts are read when ``cause`` is repaired."""
    return Reading(
        any_space=cause == "whitespace",
        any_key_order=cause == "schema-key-order",
        any_argument_order=cause == "args-key-order",
    )


def message_pieces(message: JsonObject, reading: Reading) -> tuple[Piece, ...]:
    """All of a message but its role; an empty one has one piece that says so.

    Content as text and as parts of text are the same.
    """
    return tuple(_pieces(message, reading)) or (Piece("content", "null"),)


def _pieces(message: JsonObject, reading: Reading) -> Iterator[Piece]:
    content = message.get("content")
    parts = content if isinstance(content, list) else [content]
    for part in parts:
        if isinstance(part, str):
            yield from text_pieces(part, reading)
        elif isinstance(part, dict) and isinstance(part.get("text"), str):
            yield from text_pieces(part["text"], reading)
            rest = {name: value for name, value in part.items() if name not in ("text", "type")}
            if rest:
                yield Piece("content", canonical(rest))
        elif part is not None:
            yield Piece("content", canonical(part))
    for name in sorted(message):
        value = message[name]
        if name not in ("role", "content") and value not in (None, [], ""):
            yield Piece(name, canonical(_ordered(value) if reading.any_argument_order else value))


def text_pieces(text: str, reading: Reading) -> Iterator[Piece]:
    """The pieces of a text, in order; none of them is empty."""
    if reading.any_key_order:
        text = _with_canonical_json(text)
    if reading.any_space:
        text = " ".join(text.split())
    for line in _LINE_END.split(text):
        for sentence in _SENTENCE_END.split(line.rstrip(" \t")):
            if sentence and not sentence.isspace():
                yield Piece(TEXT, sentence)


def canonical(value: Any) -> str:
    """JSON with sorted keys, the same text for the same value."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def _ordered(value: Any) -> Any:
    """``value`` with JSON texts (the arguments of tool calls) replaced by what they say."""
    if isinstance(value, dict):
        return {name: _ordered(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_ordered(item) for item in value]
    if isinstance(value, str) and value.lstrip().startswith(("{", "[")):
        return _said(value)
    return value


def _with_canonical_json(text: str) -> str:
    """``text`` with every object or array of JSON in it written canonically."""
    parts, at = [], 0
    for start in (match.start() for match in re.finditer(r"[\[{]", text)):
        if start < at:
            continue
        found = _value_at(text, start)
        if found is not None and found[0]:
            value, end = found
            parts += [text[at:start], canonical(value)]
            at = end
    return "".join([*parts, text[at:]])


def _said(text: str) -> Any:
    """What a text of JSON says; any other text as it is."""
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError):
        return text


def _value_at(text: str, start: int) -> tuple[Any, int] | None:
    """The JSON value that begins at ``start``, and where it ends."""
    try:
        return _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys are all different: of two equal ones no order is canonical."""
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key twice")
    return made


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique,
    parse_float=lambda literal: {"‹float›": literal},  # 1.0 and 1.00 are not the same text
)
