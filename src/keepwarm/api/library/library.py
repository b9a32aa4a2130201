"""The served folder: what is in it, and the way to each result."""

from __future__ import annotations

import hashlib
import os
import stat
import threading
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from keepwarm._errors import InputError
from keepwarm._json import from_json
from keepwarm._text import encodable
from keepwarm.api.library.kinds.base import Head
from keepwarm.api.library.recognise import Recognised, read_bytes, recognise
from keepwarm.api.library.walk import Seen, walk
from keepwarm.api.problems import NoSuchResult
from keepwarm.api.schema.library import Item, Kind

_Document = TypeVar("_Document")


class Stamp(NamedTuple):
    """What tells that a file was written again."""

    size_bytes: int
    modified_ns: int


class Found(NamedTuple):
    """A result and the file that was recognised: a document, within the served folder.

    ``head`` has what the library read of it, None where it is broken or too large to be read for a list.
    """

    item: Item
    path: Path
    head: Head | None = None

    def read(self) -> bytes:
        """The document as it stands. Raises InputError."""
        try:
            return read_bytes(str(self.path))
        except OSError as error:
            raise InputError(
                f"cannot read {self.item.path!r}: {error.strerror or error}; check that it may be read"
            ) from None

    def document(self, kind: type[_Document], next_step: str = "write it again") -> _Document:
        """The document as ``kind``. Raises InputError, which ends with ``next_step``: it is none."""
        try:
            return from_json(self.read(), kind)
        except msgspec.DecodeError as error:
            raise InputError(f"{self.item.path!r} cannot be read: {error}; {next_step}") from None

    def beside(self, name: str) -> Path | None:
        """A plain file of that name in the same folder, None: there is none. No link is one."""
        path = self.path.with_name(name)
        return path if plain_stamp(str(path)) is not None else None


class _Known(NamedTuple):
    seen: Seen
    result: Recognised | None  # None: the file is no result


class Library:
    """Everything below ``root``. ``revealed``: recorded values may be shown. Safe to use from threads.

    What a file was recognised as is remembered until its size or its time of change differ.
    """

    def __init__(self, root: Path, *, revealed: bool) -> None:
        self.root = root.resolve()
        self.revealed = revealed
        self._lock = threading.Lock()
        self._known: dict[str, _Known] = {}  # by relative path
        self._results: dict[str, Found] = {}  # by id

    def items(self, kind: Kind | None = None) -> tuple[Item, ...]:
        """What is there now, newest first. Looks again if files changed; never raises for a bad file."""
        return tuple(found.item for found in self.all(kind))

    def all(self, kind: Kind | None = None) -> tuple[Found, ...]:
        """``items`` with their files."""
        with self._lock:
            self._look()
            found = list(self._results.values())
        wanted = [each for each in found if kind is None or each.item.kind == kind]
        return tuple(sorted(wanted, key=lambda each: (each.item.modified_s, each.item.path), reverse=True))

    def find(self, id: str, kind: Kind) -> Found:  # noqa: A002 - as the answer calls it
        """The result with that id. Raises NoSuchResult; InputError: it is there and cannot be read."""
        with self._lock:
            found = self._results.get(id)
            if found is None or not self._is_as_known(found):
                self._look()
                found = self._results.get(id)
        if found is None or found.item.kind != kind:
            raise NoSuchResult(
                f"there is no {kind} {id!r} in {self.root.name!r}; look it up again in the list of results"
            )
        if found.item.problem is not None:
            raise InputError(found.item.problem)
        return found

    def _look(self) -> None:
        known: dict[str, _Known] = {}
        for seen in walk(self.root):
            before = self._known.get(seen.relative)
            if before is None or before.seen != seen:
                before = _Known(seen, recognise(seen.path, encodable(seen.relative), seen.size_bytes))
            known[seen.relative] = before
        if known != self._known:
            self._results = {
                found.item.id: found
                for found in (_found(each.seen, each.result) for each in known.values() if each.result)
            }
        self._known = known

    def _is_as_known(self, found: Found) -> bool:
        """Whether its file, and no link to elsewhere, is still what was recognised."""
        seen = self._known[found.path.relative_to(self.root).as_posix()].seen
        if plain_stamp(seen.path) != (seen.size_bytes, seen.modified_ns):
            return False
        return os.path.realpath(seen.path) == seen.path


def result_id(relative: str) -> str:
    """The id of the result at that path, relative to the folder and with slashes."""
    return hashlib.sha256(os.fsencode(relative)).hexdigest()[:12]


def _found(seen: Seen, result: Recognised) -> Found:
    item = Item(
        id=result_id(seen.relative),
        kind=result.kind.kind,
        title=encodable(result.title),
        path=encodable(seen.relative),
        modified_s=seen.modified_ns / 1e9,
        trace_sha256=None if result.head is None else result.head.trace_sha256(),
        problem=result.problem,
    )
    return Found(item, Path(seen.path), result.head)


def plain_stamp(path: str) -> Stamp | None:
    """Of a plain file; None: it is none, or is gone. A link is none."""
    try:
        told = os.lstat(path)
    except (OSError, ValueError):
        return None
    return Stamp(told.st_size, told.st_mtime_ns) if stat.S_ISREG(told.st_mode) else None
