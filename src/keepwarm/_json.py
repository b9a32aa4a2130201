"""Documents as JSON: stable keys, stable bytes, fit for a terminal."""

from __future__ import annotations

import json
import math
import re
from typing import Any, TypeVar

import msgspec

from keepwarm._text import clip, encodable

_DIGITS = 6
_Document = TypeVar("_Document")
# Valid inside JSON strings, but not fit for a terminal: written as escapes, which mean the same.
_UNFIT = re.compile("[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


def to_json(document: dict[str, Any]) -> bytes:
    """UTF-8, indented by two, ending with a line end; the same bytes for the same document."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2) + "\n"
    escaped = _UNFIT.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    # A lone surrogate becomes \ud800, which is its JSON escape.
    return escaped.encode("utf-8", "backslashreplace")


class _Head(msgspec.Struct, frozen=True):
    schema: str | None = None


def decoded(content: bytes, kind: type[_Document], schema: str = "") -> _Document:
    """``content`` as ``kind``, by the letter: no NaN, no lone surrogate, and of ``schema`` if it says one.

    Raises msgspec.DecodeError (msgspec.ValidationError among them): it is no such document, is not UTF-8, or
    is nested deeper than Python can follow.
    """
    try:
        if schema and (found := msgspec.json.decode(content, type=_Head).schema) not in (None, schema):
            raise msgspec.ValidationError(f"it has the schema {clip(found, 80)!r}, not {schema!r}")
        return msgspec.json.decode(content, type=kind)
    except (UnicodeDecodeError, RecursionError) as error:
        raise msgspec.DecodeError(_reason(error)) from None


def parsed(content: bytes | str) -> Any:
    """As ``json.loads``; also what is nested deeper than Python can follow is a ValueError."""
    try:
        return json.loads(content)
    except RecursionError as error:
        raise ValueError(_reason(error)) from None


def _reason(error: Exception) -> str:
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)


def from_json(content: bytes, kind: type[_Document]) -> _Document:
    """``content`` as ``kind``; lone surrogates, which msgspec refuses, become escapes in the text.

    Raises msgspec.DecodeError (msgspec.ValidationError among them): it is no such document.
    """
    try:
        return decoded(content, kind)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError as error:
        try:
            value = parsed(content)
        except ValueError:
            raise error from None
    return msgspec.convert(without_surrogates(value), kind)


def without_surrogates(value: Any) -> Any:
    """``value``, made of dictionaries, lists and the like, with all text fit for UTF-8."""
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, dict):
        return {encodable(key): without_surrogates(item) for key, item in value.items()}
    return [without_surrogates(item) for item in value] if isinstance(value, (list, tuple)) else value


def plain(value: Any) -> Any:
    """Records as dictionaries and lists, floats rounded to six digits, what is not finite as null."""
    return _rounded(msgspec.to_builtins(value))


def _rounded(value: Any) -> Any:
    """Floats to six digits, so that the last bit of a sum does not change a document."""
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(item) for item in value]
    if isinstance(value, float):
        return round(value, _DIGITS) if math.isfinite(value) else None
    return value
