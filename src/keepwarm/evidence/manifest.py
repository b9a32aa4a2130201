"""The manifest: every file of a folder by name, size and SHA-256, and one digest over all of it.

Each link of the chain covers the one before it and one file's entry, so no entry can be changed, added, left
out or moved without changing the last link, ``chain_sha256``. Whoever wrote that down elsewhere (a review, a
commit) can tell that the folder is the one they saw; whoever did not, that nothing changed by accident.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec

from keepwarm._json import decoded, plain, to_json

NAME = "manifest.json"
SCHEMA = "keepwarm.manifest/1"
_FILE_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of the folder: its plain name, size and digest."""

    name: str
    size_bytes: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole. ``redacted_from`` is the chain digest of the evidence that this is a redacted copy of."""

    schema: Literal["keepwarm.manifest/1"] = "keepwarm.manifest/1"
    redacted_from: str | None = None
    files: tuple[Entry, ...]
    chain_sha256: str


def manifest_of(files: Mapping[str, bytes], redacted_from: str | None = None) -> Manifest:
    """The manifest of files by name."""
    entries = tuple(
        Entry(name, len(content), hashlib.sha256(content).hexdigest())
        for name, content in sorted(files.items())
    )
    return Manifest(redacted_from=redacted_from, files=entries, chain_sha256=chain_of(entries, redacted_from))


def chain_of(entries: Iterable[Entry], redacted_from: str | None) -> str:
    """The last link of the chain."""
    link = hashlib.sha256(f"{SCHEMA}\n{redacted_from or ''}\n".encode()).hexdigest()
    for entry in entries:
        line = f"{link}\n{entry.name}\n{entry.size_bytes}\n{entry.sha256}\n"
        link = hashlib.sha256(line.encode("utf-8", "surrogatepass")).hexdigest()
    return link


def manifest_bytes(manifest: Manifest) -> bytes:
    """As the file holds it: there is one spelling, and every other is a change."""
    document: dict[str, Any] = plain(manifest)
    return to_json(document)


def manifest_from(content: bytes) -> Manifest:
    """Read one. ValueError: the reason why it is none, or not as it was written."""
    try:
        manifest = decoded(content, Manifest)
    except msgspec.DecodeError as error:
        raise ValueError(f"is no {SCHEMA}: {error}") from None
    names = [entry.name for entry in manifest.files]
    if not all(_FILE_NAME.fullmatch(name) and name != NAME for name in names):
        raise ValueError("names a file that cannot lie beside it")
    if names != sorted(set(names)):
        raise ValueError("lists its files out of order, or one of them twice")
    if manifest.chain_sha256 != chain_of(manifest.files, manifest.redacted_from):
        raise ValueError("was changed: its entries do not give its chain digest")
    if manifest_bytes(manifest) != content:
        raise ValueError("was changed: it is not spelt as it was written")
    return manifest
