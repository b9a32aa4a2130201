"""Cut a stream of JSON values into records without decoding it, and without holding it whole."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import IO, NamedTuple

MAX_RECORD_BYTES = 256 * 1024 * 1024
_CHUNK_BYTES = 1024 * 1024

# A whole string, or the quote of one that goes on in the next chunk, or a bracket.
_TOKEN = re.compile(rb'"(?:[^"\\]+|\\.)*+"|["{}\[\]]', re.DOTALL)


class RawRecord(NamedTuple):
    """One line (or JSON value) of the file; ``data`` is ``None`` where it exceeds the limit."""

    number: int
    data: bytes | None


def json_values(stream: IO[bytes], outer_level: int) -> Iterator[RawRecord]:
    """Objects and arrays that stand ``outer_level`` brackets deep: 1 gives the elements of an array.

    What is not closed at the end of the stream comes as it is, for the decoder to say so. A value
    over the limit ends the stream.
    """
    cutter = _Cutter(outer_level)
    while chunk := stream.read(cutter.read_bytes):
        yield from cutter.feed(chunk)
        if cutter.too_long:
            yield RawRecord(cutter.number + 1, None)
            return
    if cutter.level > 0:
        yield RawRecord(cutter.number + 1, cutter.pending or b"[")


class _Cutter:
    """What has been read and not yet given out; ``start`` is where the current value begins."""

    def __init__(self, outer_level: int) -> None:
        self.pending = b""
        self.level = 0
        self.number = 0
        self.read_bytes = _CHUNK_BYTES
        self._outer_level = outer_level
        self._start = -1
        self._scanned = 0

    @property
    def too_long(self) -> bool:
        return self._start >= 0 and len(self.pending) > MAX_RECORD_BYTES

    def feed(self, chunk: bytes) -> Iterator[RawRecord]:
        self.pending += chunk
        before = self._scanned
        yield from self._scan()
        # A string longer than a chunk is scanned again from its quote, so read more at a time.
        stuck = self._scanned == before
        self.read_bytes = min(2 * self.read_bytes, MAX_RECORD_BYTES) if stuck else _CHUNK_BYTES
        cut = self._start if self._start >= 0 else self._scanned
        self.pending = self.pending[cut:]
        self._scanned -= cut
        self._start = min(self._start, 0)

    def _scan(self) -> Iterator[RawRecord]:
        pending = self.pending
        for match in _TOKEN.finditer(pending, self._scanned):
            token = pending[match.start()]
            if token in b"{[":
                self.level += 1
                if self.level == self._outer_level + 1:
                    self._start = match.start()
            elif token in b"}]":
                self.level = max(self.level - 1, 0)
                if self.level == self._outer_level and self._start >= 0:
                    self.number += 1
                    yield RawRecord(self.number, pending[self._start : match.end()])
                    self._start = -1
            elif match.end() == match.start() + 1:
                self._scanned = match.start()
                return
        self._scanned = len(pending)
