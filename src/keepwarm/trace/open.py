"""Open a file of recorded requests and stream them, whatever its format."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import Path

import msgspec

from keepwarm._errors import TraceError
from keepwarm.trace.json_values import RawRecord
from keepwarm.trace.readers import FORMATS, READERS
from keepwarm.trace.readers.base import Reader, Unusable
from keepwarm.trace.readers.decode import SURE, best_other, decode_object, detect, unwrapped
from keepwarm.trace.records import JsonObject, Request, Skipped
from keepwarm.trace.source import ByteSource, cannot_read, size_of

MAX_SKIPPED_LISTED = 10_000
"""Skipped lines listed one by one; the rest is one entry that counts them."""

__all__ = ["FORMATS", "MAX_SKIPPED_LISTED", "Trace", "open_trace"]


class Trace:
    """A file of recorded requests, read again from the start by each call of ``requests()``.

    ``path`` and ``format`` as used; ``size_bytes`` of the file as it lies on disk (compressed, if
    it is). The four flags are the format's: whether prompt texts are known, whether the prompt
    is complete (system text and tools included), whether sessions are named, whether all times are
    of one clock (else they count from the start of each session). ``skipped`` is complete once
    ``requests()`` has been exhausted.
    """

    def __init__(self, path: Path, reader: type[Reader], size_bytes: int, *, chosen: bool) -> None:
        self.path = path
        self.format = reader.name
        self.size_bytes = size_bytes
        self.prompt_texts_known = reader.prompt_texts_known
        self.prompt_complete = reader.prompt_complete
        self.sessions_known = reader.sessions_known
        self.one_clock = reader.one_clock
        self.skipped: tuple[Skipped, ...] = ()
        self._reader = reader
        self._chosen = chosen

    @cached_property
    def sha256(self) -> str:
        """Hex digest of the file's bytes as they lie on disk; reads the file once. Raises TraceError."""
        try:
            with self.path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise cannot_read(self.path, error) from None

    def requests(
        self, on_bytes: Callable[[int], None] | None = None, *, own_ids: bool = True
    ) -> Iterator[Request]:
        """The requests in file order.

        ``on_bytes`` is told how many of ``size_bytes`` have been consumed so far. ``own_ids``: no two have
        the same id, which takes memory for each of them. Raises TraceError if the file cannot be read, or at
        its end if nothing in it was usable.
        """
        skips = _SkipLog()
        ids: dict[str, int] = {}
        found = False
        for item in self._items(on_bytes):
            if isinstance(item, Skipped):
                skips.add(item)
                continue
            found = True
            yield _with_own_id(item, ids) if own_ids else item
        self.skipped = skips.result()
        if not found:
            raise TraceError(_nothing_usable(self, skips))

    def _items(self, on_bytes: Callable[[int], None] | None) -> Iterator[Request | Skipped]:
        source = ByteSource(self.path, on_bytes)
        reader = self._reader()
        read_raw = self._read_text if reader.is_text else self._read_json
        last = 0
        try:
            for raw in source.records():
                last = raw.number
                try:
                    yield from read_raw(reader, raw)
                except Unusable as error:
                    yield Skipped(raw.number, str(error))
                except RecursionError:
                    yield Skipped(raw.number, "the JSON nests too deep")
            yield from reader.finish()
            if source.damage:
                yield Skipped(last, source.damage)
        finally:
            source.close()

    def _read_text(self, reader: Reader, raw: RawRecord) -> Iterable[Request | Skipped]:
        if raw.data is None:
            raise Unusable("longer than the limit for one line")
        try:
            text = raw.data.decode("utf-8")
        except UnicodeDecodeError:
            if reader.score_text(raw.data.decode("utf-8", "replace")) < SURE:
                return ()  # not a request anyway
            raise Unusable("not UTF-8; was it cut or written in another encoding?") from None
        return reader.read_text(text, raw.number)

    def _read_json(self, reader: Reader, raw: RawRecord) -> Iterable[Request | Skipped]:
        if raw.data is not None and raw.data.isspace():
            return ()
        record = decode_object(raw.data)
        score = reader.score(record)
        if score < SURE and not self._chosen:
            other = best_other(record, self._reader)
            if other is not None:
                raise Unusable(f"a line of the format {other} in a file of {self.format}")
        if score == 0.0:
            inner = unwrapped(record)
            if inner is not None:
                return self._read_inner(reader, inner)
        return reader.read(record, raw.number)

    def _read_inner(self, reader: Reader, records: list[JsonObject]) -> Iterator[Request | Skipped]:
        for number, record in enumerate(records, start=1):
            try:
                yield from reader.read(record, number)
            except Unusable as error:
                yield Skipped(number, str(error))


class _SkipLog:
    """Skipped lines, the first of them one by one."""

    def __init__(self) -> None:
        self.listed: list[Skipped] = []
        self._more = 0
        self._last = 0

    def add(self, skipped: Skipped) -> None:
        if len(self.listed) < MAX_SKIPPED_LISTED:
            self.listed.append(skipped)
        else:
            self._more += 1
            self._last = skipped.line

    def result(self) -> tuple[Skipped, ...]:
        rest = [Skipped(self._last, f"and {self._more} more lines up to this one")] if self._more else []
        return (*self.listed, *rest)


def _with_own_id(request: Request, seen: dict[str, int]) -> Request:
    """The request with an id that no earlier one has: the second ``x`` is ``x#2``."""
    count = seen.get(request.id, 0) + 1
    seen[request.id] = count
    if count == 1:
        return request
    while (own_id := f"{request.id}#{count}") in seen:
        count += 1
    seen[request.id] = count
    seen[own_id] = 1
    return msgspec.structs.replace(request, id=own_id)


def _nothing_usable(trace: Trace, skips: _SkipLog) -> str:
    found = "it has no records"
    if skips.listed:
        first = skips.listed[0]
        found = f"line {first.line}: {first.reason}"
    return f"no usable request in {str(trace.path)!r} read as {trace.format} ({found}); check --format"


def open_trace(path: str | os.PathLike[str], format: str = "auto") -> Trace:  # noqa: A002  # as the flag is called
    """Open a trace; ``format`` is ``auto`` (from the content) or one of ``FORMATS``.

    Raises TraceError if there is no such format, the file cannot be read, or nothing in it is
    recognised. What is only known at the end is raised by ``Trace.requests()``.
    """
    path = Path(path)
    if format != "auto" and format not in READERS:
        raise TraceError(f"unknown format {format!r}; known are: auto, {', '.join(FORMATS)}")
    size_bytes = size_of(path)
    source = ByteSource(path)
    try:
        name = format if format != "auto" else detect(source.records())
    finally:
        source.close()
    if name is None:
        damage = f" ({source.damage})" if source.damage else ""
        raise TraceError(
            f"no recorded requests recognised in {str(path)!r}{damage}; "
            f"check the file, or name its format with --format ({', '.join(FORMATS)})"
        )
    return Trace(path, READERS[name], size_bytes, chosen=format != "auto")
