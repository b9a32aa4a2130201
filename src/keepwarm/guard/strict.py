"""Documents that people write for the guard, read strictly: an unknown key is a mistake, not a comment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from keepwarm._errors import InputError

T = TypeVar("T")
_MOST_BYTES = 64 << 20


def read_bytes(path: Path, what: str) -> bytes:
    """A file's content. Raises InputError: it cannot be read, or is larger than any such file."""
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise InputError(
            f"cannot read {what} {str(path)!r}: {error.strerror or error}; check the path"
        ) from None
    if len(content) > _MOST_BYTES:
        raise InputError(
            f"{what} {str(path)!r} is larger than {_MOST_BYTES >> 20} MiB; is it the right file?"
        )
    return content


def read_document(content: bytes, kind: type[T], schema: str, what: str) -> T:
    """``content`` as ``kind``. Raises InputError: it is no JSON, of another schema, or a field is wrong."""
    try:
        value = json.loads(content, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{what} is no JSON that can be read ({error}); write a {schema} document") from None
    found = value.get("schema") if isinstance(value, dict) else None
    if found != schema:
        raise InputError(f"{what} has the schema {found!r}, not {schema!r}; give a {schema} document")
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise InputError(f"{what}: {error}; write it as {schema} says") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return made
