"""Server-sent events out of chunks that end anywhere (WHATWG HTML, 9.2.6; lines end in LF or CRLF)."""

from __future__ import annotations

from collections.abc import Iterator


class EventSplitter:
    """Give it bytes, get the ``data`` of each event that is complete by then."""

    def __init__(self) -> None:
        self._pending = bytearray()
        self._searched = 0
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Mutates: use up the result before the next call."""
        self._pending += chunk
        start = 0
        while (end := self._pending.find(b"\n", max(start, self._searched))) >= 0:
            line = bytes(self._pending[start:end]).removesuffix(b"\r")
            start = end + 1
            if line.startswith(b"data:"):
                self._data.append(line[5:].removeprefix(b" "))
            elif not line and self._data:
                yield self._take()
        del self._pending[:start]
        self._searched = len(self._pending)

    def finish(self) -> bytes | None:
        """The event that the end of the stream cut off, as far as it came; ``None`` if there is none."""
        rest = bytes(self._pending).removesuffix(b"\r")
        if rest.startswith(b"data:"):
            self._data.append(rest[5:].removeprefix(b" "))
        self._pending.clear()
        return self._take() if self._data else None

    def _take(self) -> bytes:
        data = b"\n".join(self._data)
        self._data.clear()
        return data
