"""What a call site's pieces are: the application's own text, a field, or free text."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence

from keepwarm.guard.content.pieces import Piece
from keepwarm.trace.catalog import Row

_SHARE = 0.9  # of requests and of sessions; a rare variant of a prompt must not free its text to be moved
_START = re.compile(r"\W*(\w+)\W*(\w*)")

Key = tuple[str, Piece]  # a role and a piece


class SitePieces:
    """Stable text, fields and free text of one call site.

    Stable: nine in ten requests, and requests of nine in ten sessions, have it; pieces of one request count
    once. A field varies and begins with the same two words, once in a request, in as many requests
    (``Current time: ...``). All else is free text: passages, memories, what people wrote.
    """

    def __init__(self, rows: Sequence[Row], pieces_of: Callable[[Row], Iterable[Key]]) -> None:
        self._requests = len(rows)
        self._sessions = len({_session(row) for row in rows})
        self._in_requests: Counter[Key] = Counter()
        self._in_sessions: dict[Key, set[str]] = defaultdict(set)
        for row in rows:
            for key in set(pieces_of(row)):
                self._in_requests[key] += 1
                self._in_sessions[key].add(_session(row))
        self._fields: Counter[tuple[str, str]] = Counter()
        for row in rows:
            starts = Counter((role, _start(p)) for role, p in pieces_of(row) if not self.is_stable(role, p))
            self._fields.update(start for start, number in starts.items() if number == 1)

    def is_stable(self, role: str, piece: Piece) -> bool:
        """Whether the application says it in every request, rare variants of the prompt aside."""
        key = (role, piece)
        return (
            self._in_requests[key] >= _SHARE * self._requests
            and len(self._in_sessions.get(key, ())) >= _SHARE * self._sessions
        )

    def is_field(self, role: str, piece: Piece) -> bool:
        """Whether a piece that varies is one value with its name, as every request has it once."""
        return self._fields[role, _start(piece)] >= _SHARE * self._requests


def _session(row: Row) -> str:
    return row.session if row.session is not None else row.id


def _start(piece: Piece) -> str:
    match = _START.match(piece.text)
    return piece.text if match is None else match[0]
