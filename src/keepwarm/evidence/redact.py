"""What of a document or a row may leave the machine; whatever is not known to be harmless is redacted.

- numbers, and words of a fixed shape under a name that has that shape (schemas, digests of files, modes,
  versions): as they are
- ids, sessions, digests of texts and of request bodies: numbered, equal ones alike, for an id may say who and
  a digest of a short text can be guessed
- generated texts: taken out; what a server said about a failure: cut to its kind, for it may quote the prompt
- addresses and paths: a word in place of an address, a path's last part
- every other text: through the redactor that is given
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Any

Redact = Callable[[str], str]

_SHAPES: dict[str, re.Pattern[str]] = {
    name: re.compile(pattern)
    for names, pattern in (
        (("schema",), r"keepwarm\.[a-z-]{1,40}/\d{1,3}"),
        (("sha256", "chain_sha256", "trace_sha256", "rendering_sha256"), r"[0-9a-f]{64}"),
        (("chat_template_sha256",), r"[0-9a-f]{64}"),
        (("commit",), r"[0-9a-f]{40}"),
        (("started",), r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00"),
        (("vllm", "keepwarm", "python"), r"\d[\d.]{0,15}(?:[a-z+]{1,6}\d{0,4}){0,3}"),
        (("mode", "state", "status", "api", "unit", "method", "policy", "tool_choice"), r"[a-z][a-z-]{0,23}"),
        (
            ("before_status", "after_status", "by", "rule", "device_type", "finish_reason"),
            r"[a-z][a-z _]{0,23}",
        ),
        (("format", "cache_dtype", "prefix_caching_hash_algo"), r"[a-z][a-z0-9_-]{0,23}"),
        (("output",), r"equal|changed|unknown"),
    )
    for name in names
}
_NUMBERED = {
    "id": "request",
    "after_id": "request",
    "session": "session",
    "text_sha256": "output",
    "body_sha256": "body",
}
_CUT = frozenset(("error", "reason"))


class Redaction:
    """One copy: what is equal in the evidence is equal in it, over all of its files."""

    def __init__(self, redact: Redact) -> None:
        self._redact = redact
        self._numbers: dict[tuple[str, str], str] = {}
        self._counts: dict[str, int] = {}
        self._places: dict[str, str] = {}

    def places(self, document: Mapping[str, Any]) -> None:
        """Learn addresses and paths, which sentences repeat. Mutates."""
        for name, value in document.items():
            if isinstance(value, dict):
                self.places(value)
            elif isinstance(value, str) and value and (place := _place(name, value)) is not None:
                self._places[value] = place

    def value(self, name: str, value: Any) -> Any:
        """``value``, which stands under ``name``, as it may leave. Mutates: numbers are remembered."""
        if isinstance(value, dict):
            return {key: self.value(key, item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.value(name, item) for item in value]
        return self._text(name, value) if isinstance(value, str) else value

    def record(self, record: dict[str, Any]) -> dict[str, Any]:
        """A row; a generated text is taken out. Mutates as ``value`` does."""
        return {name: None if name == "text" else self.value(name, value) for name, value in record.items()}

    def _text(self, name: str, text: str) -> str:
        if name in _NUMBERED:
            return self._numbered(_NUMBERED[name], text)
        if _fits(name, text):
            return text
        if name in _CUT:
            text = text.partition(":")[0]
        for place in sorted(self._places, key=len, reverse=True):
            text = text.replace(place, self._places[place])
        return self._redact(text)

    def _numbered(self, kind: str, text: str) -> str:
        known = self._numbers.get((kind, text))
        if known is None:
            number = self._counts[kind] = self._counts.get(kind, 0) + 1
            known = self._numbers[kind, text] = f"{kind}-{number}"
        return known


def _fits(name: str, value: object) -> bool:
    shape = _SHAPES.get(name)
    return shape is not None and isinstance(value, str) and shape.fullmatch(value) is not None


def _place(name: str, value: str) -> str | None:
    if name == "base_url":
        return "http://server"
    return PurePath(value).name or "path" if name in ("path", "model_root") else None
