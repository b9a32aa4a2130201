"""Which kind of result a file is: told by the ``schema`` key at the beginning of its document."""

from __future__ import annotations

import json
import os
import re
from typing import Any, BinaryIO, NamedTuple

import msgspec

from keepwarm._json import from_json
from keepwarm.api.library.kinds import KINDS
from keepwarm.api.library.kinds.base import Head

_HEAD_BYTES = 64 << 10
_WHOLE_BYTES = 16 << 20  # larger documents are judged by both of their ends
_MOST_BYTES = 512 << 20
_FIRST_KEY = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"schema"\s*:\s*"([^"\\]{1,80})"')
_SPACE = re.compile(r"[ \t\r\n]*")


class Recognised(NamedTuple):
    """A result. ``head`` is None where it is broken or too large; ``problem``: why it cannot be shown."""

    kind: type[Head]
    title: str
    head: Head | None = None
    problem: str | None = None


def recognise(path: str, name: str, size_bytes: int) -> Recognised | None:
    """What the file is, None: no result. ``name`` is what it is called in a problem."""
    try:
        with _opened(path) as file:
            head = file.read(_HEAD_BYTES)
            schema = _schema(head)
            kind = None if schema is None else _kind(schema)
            if schema is None or kind is None:
                return None
            if schema != kind.schema_name:
                known = kind.schema_name
                return _broken(kind, name, f"is {schema}, and this keepwarm reads {known}; update keepwarm")
            if size_bytes > _MOST_BYTES:
                return _broken(
                    kind, name, f"is larger than {_MOST_BYTES >> 20} MiB; take a part of the trace"
                )
            if size_bytes <= _WHOLE_BYTES:
                return _judged(kind, name, head + file.read(_WHOLE_BYTES + 1))
            file.seek(-1024, os.SEEK_END)
            return _judged_by_ends(kind, name, head, file.read())
    except OSError:
        return None


def read_bytes(path: str, most_bytes: int = _MOST_BYTES) -> bytes:
    """A plain file's content, no link followed at its end. Raises OSError: it cannot be, or is too long."""
    with _opened(path) as file:
        content = file.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise OSError(0, f"larger than {most_bytes >> 20} MiB")
    return content


def _opened(path: str) -> BinaryIO:
    return open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK))


def _kind(schema: str) -> type[Head] | None:
    """Of that schema in any version."""
    if schema in KINDS:
        return KINDS[schema]
    family, _, version = schema.rpartition("/")
    return KINDS.get(f"{family}/1") if version.isdigit() else None


def _schema(head: bytes) -> str | None:
    if match := _FIRST_KEY.match(head):
        return match[1].decode("utf-8", "replace")
    if (
        b'"schema"' not in head
        or b'"keepwarm.' not in head
        or head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] != b"{"
    ):
        return None
    found = _members(head).get("schema")
    return found if isinstance(found, str) else None


def _judged(kind: type[Head], name: str, content: bytes) -> Recognised:
    try:
        head = from_json(content.removeprefix(b"\xef\xbb\xbf"), kind)
    except msgspec.DecodeError as error:
        return _broken(
            kind, name, f"is no {kind.schema_name} that can be read: {error}; write it again: {kind.made_by}"
        )
    return Recognised(kind, head.title(), head)


def _judged_by_ends(kind: type[Head], name: str, head: bytes, tail: bytes) -> Recognised:
    if not tail.rstrip().endswith(b"}"):
        return _broken(kind, name, f"ends in the middle; write it again: {kind.made_by}")
    try:
        told = msgspec.convert(_members(head), kind)
    except (msgspec.ValidationError, RecursionError):  # what the title needs stands further behind
        return Recognised(kind, name)
    return Recognised(kind, told.title(), told)


def _broken(kind: type[Head], name: str, what: str) -> Recognised:
    return Recognised(kind, name.rpartition("/")[2], None, f"{name!r} {what}")


def _members(head: bytes) -> dict[str, Any]:
    """The members of the outermost object that are whole within ``head``."""
    text = head.decode("utf-8-sig", "replace")
    members: dict[str, Any] = {}
    decoder = json.JSONDecoder()
    at = _after_space(text, 0) + 1  # behind the brace
    try:
        while True:
            at = _after_space(text, at)
            key, at = decoder.raw_decode(text, at)
            at = _after_space(text, at) + 1  # behind the colon
            members[key], at = decoder.raw_decode(text, _after_space(text, at))
            at = _after_space(text, at) + 1  # behind the comma
    except (ValueError, TypeError, IndexError, RecursionError):
        return members


def _after_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return at if match is None else match.end()
