"""Bytes of a trace file, decompressed and cut into records, as a stream.

The file name says nothing here: compression is known by magic bytes, the layout (JSON lines
or text, one JSON array, or pretty-printed JSON values) by the first bytes.
"""

from __future__ import annotations

import enum
import io
import stat
import zlib
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING

from keepwarm._errors import TraceError
from keepwarm.trace.json_values import MAX_RECORD_BYTES, RawRecord, json_values

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_CHUNK_BYTES = 1024 * 1024
_ZSTD_CHUNK_BYTES = 8 * 1024  # small, because a few bytes of zstd can stand for very many
_BOM = b"\xef\xbb\xbf"

_FOREIGN_MAGICS = (
    (b"PK\x03\x04", "a zip archive", "unpack it first"),
    (b"BZh", "bzip2 data", "decompress it, or use gzip or zstd"),
    (b"\xfd7zXZ\x00", "xz data", "decompress it, or use gzip or zstd"),
    (b"PAR1", "a Parquet file", "export it as JSON lines"),
    (b"SQLite format 3\x00", "a SQLite database", "export it as JSON lines"),
    (b"\xff\xfe", "UTF-16 text", "convert it to UTF-8"),
    (b"\xfe\xff", "UTF-16 text", "convert it to UTF-8"),
)


class Layout(enum.Enum):
    """How records follow one another in a file."""

    LINES = "lines"
    ARRAY = "array"
    VALUES = "values"


def size_of(path: Path, what: str = "requests") -> int:
    """Size in bytes of a regular, non-empty file of ``what``; raises TraceError for anything else."""
    try:
        info = path.stat()
    except (OSError, ValueError) as error:
        advice = "save the stream to a file first" if str(path) == "-" else "check the path"
        raise TraceError(f"cannot open {str(path)!r}: {_os_reason(error)}; {advice}") from None
    if stat.S_ISDIR(info.st_mode):
        raise TraceError(f"{str(path)!r} is a directory; name one file of recorded {what} in it")
    if not stat.S_ISREG(info.st_mode):
        raise TraceError(f"{str(path)!r} is not a regular file; save the stream to a file first")
    if info.st_size == 0:
        raise TraceError(f"{str(path)!r} is empty; record some {what} first")
    return info.st_size


def cannot_read(path: Path, error: OSError) -> TraceError:
    """What to raise where a file that was opened stops giving its bytes."""
    return TraceError(f"cannot read {str(path)!r}: {_os_reason(error)}; check the disk, or use a copy")


class ByteSource:
    """The decompressed bytes of one file, for one pass.

    ``on_bytes`` is told how many bytes of the file (compressed, if it is) have been consumed
    so far. ``damage`` is set once the end of a broken compressed stream has been met: what
    came before it has been delivered.
    """

    def __init__(self, path: Path, on_bytes: Callable[[int], None] | None = None) -> None:
        self.damage: str | None = None
        self._path = path
        self._on_bytes = on_bytes
        try:
            self._file = path.open("rb", buffering=0)
        except OSError as error:
            raise TraceError(f"cannot open {str(path)!r}: {_os_reason(error)}; check the path") from None
        self._chunks = self._decoded()
        self.stream = io.BufferedReader(_ChunkReader(self._chunks), _CHUNK_BYTES)

    def close(self) -> None:
        """Close the file; the stream ends."""
        self._chunks.close()
        self._file.close()

    def layout(self) -> Layout:
        """Layout of the file, read from its first bytes; consumes nothing but a byte order mark."""
        head = self.stream.peek(_CHUNK_BYTES)
        if head.startswith(_BOM):
            self.stream.read(len(_BOM))
            head = self.stream.peek(_CHUNK_BYTES)
        for magic, what, advice in _FOREIGN_MAGICS:
            if head.startswith(magic):
                raise TraceError(f"{str(self._path)!r} is {what}; {advice}")
        return _layout_of(head)

    def records(self) -> Iterator[RawRecord]:
        """Lines or JSON values in file order, numbered from 1."""
        layout = self.layout()
        if layout is Layout.LINES:
            return _lines(self.stream)
        return json_values(self.stream, outer_level=1 if layout is Layout.ARRAY else 0)

    def _raw(self, chunk_bytes: int) -> Iterator[bytes]:
        consumed = 0
        while True:
            try:
                chunk = self._file.read(chunk_bytes)
            except OSError as error:
                raise cannot_read(self._path, error) from None
            if not chunk:
                return
            consumed += len(chunk)
            if self._on_bytes is not None:
                self._on_bytes(consumed)
            yield chunk

    def _decoded(self) -> Generator[bytes, None, None]:
        try:
            magic = self._file.read(4)
            self._file.seek(0)
        except OSError as error:
            raise cannot_read(self._path, error) from None
        if magic.startswith(b"\x1f\x8b"):
            yield from self._gunzip()
        elif magic == b"\x28\xb5\x2f\xfd":
            yield from self._unzstd()
        else:
            yield from self._raw(_CHUNK_BYTES)

    def _gunzip(self) -> Iterator[bytes]:
        member = zlib.decompressobj(31)
        for raw in self._raw(_CHUNK_BYTES):
            chunk = raw
            while chunk:
                if member.eof:
                    member = zlib.decompressobj(31)
                try:
                    yield member.decompress(chunk, _CHUNK_BYTES)
                except zlib.error as error:
                    self.damage = f"the gzip stream is broken ({error}); what came before it was used"
                    return
                # Padding with zeros after a member is legal, as gzip(1) does.
                chunk = member.unused_data.lstrip(b"\0") if member.eof else member.unconsumed_tail
        if not member.eof:
            self.damage = "the gzip stream ends before its end mark; what came before it was used"

    def _unzstd(self) -> Iterator[bytes]:
        import zstandard

        decompressor = zstandard.ZstdDecompressor(max_window_size=2**31)
        frame = decompressor.decompressobj()
        for raw in self._raw(_ZSTD_CHUNK_BYTES):
            chunk = raw
            while chunk:
                if frame.eof:
                    frame = decompressor.decompressobj()
                try:
                    yield frame.decompress(chunk)
                except zstandard.ZstdError as error:
                    self.damage = f"the zstd stream is broken ({error}); what came before it was used"
                    return
                chunk = frame.unused_data if frame.eof else b""
        if not frame.eof:
            self.damage = "the zstd stream ends before its end mark; what came before it was used"


class _ChunkReader(io.RawIOBase):
    """A raw stream over chunks of bytes."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._rest = memoryview(chunk)
        target = memoryview(buffer).cast("B")
        count = min(len(target), len(self._rest))
        target[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count


def _layout_of(head: bytes) -> Layout:
    text = head.lstrip()
    if text[:1] == b"[":
        return Layout.ARRAY if text[1:].lstrip()[:1] in (b"{", b"[", b"]", b"") else Layout.LINES
    first, _, rest = text.partition(b"\n")
    first, following = first.rstrip(), rest.lstrip()[:1]
    # Pretty-printed: the first line opens a value that the second, not another object, goes on with.
    if first[:1] == b"{" and first[-1:] in (b"{", b"[", b",") and following in (b'"', b"}", b"]", b"["):
        return Layout.VALUES
    if first[:1] == b"{" and first[-1:] == b"[" and following == b"{":
        return Layout.VALUES
    return Layout.LINES


def _lines(stream: IO[bytes]) -> Iterator[RawRecord]:
    number = 0
    while data := stream.readline(MAX_RECORD_BYTES + 1):
        number += 1
        if len(data) > MAX_RECORD_BYTES:
            while data and not data.endswith(b"\n"):
                data = stream.readline(_CHUNK_BYTES)
            yield RawRecord(number, None)
        else:
            yield RawRecord(number, data)


def _os_reason(error: OSError | ValueError) -> str:
    return (error.strerror or str(error)).lower() if isinstance(error, OSError) else str(error)
