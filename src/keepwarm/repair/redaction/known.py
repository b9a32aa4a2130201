"""Recorded values, found wherever a text repeats them in whatever spelling."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from keepwarm.diagnose.report.secrets import Found
from keepwarm.repair.redaction.views import View, canonical, folded, squeezed

SHORTEST_VALUE = 3
"""Canonical characters; shorter values ("3", "no") occur in any text and tell nothing."""

_PREFIX = SHORTEST_VALUE
_PIECE = 48  # longer values are known by pieces of this length: what follows is found in linear time
_CERTAIN = 8  # so long a value is no part of another word by chance
_WIDEST_GAP = 8  # characters of spacing inside a value; more of it is layout between two things
_UNSPACED_FROM = 0x2E80  # scripts that write without spaces between words


class KnownValues:
    """A set of values with their kinds. Time to search grows with the text, not with their number."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._kinds: dict[str, str] = {}
        for value, kind in values.items():
            for piece in _pieces(canonical(value)):
                self._kinds.setdefault(piece, kind)
        lengths: dict[str, set[int]] = defaultdict(set)
        for piece in self._kinds:
            lengths[piece[:_PREFIX]].add(len(piece))
        self._lengths = {prefix: sorted(own, reverse=True) for prefix, own in lengths.items()}

    def spans(self, text: str) -> Iterator[Found]:
        """Where ``text``, already without escapes, holds a value: in order, not overlapping."""
        if not self._kinds:
            return
        plain = folded(text)
        view = squeezed(plain)
        squeezed_text, known = view.text, self._lengths
        i, last = 0, len(squeezed_text) - _PREFIX
        open_piece: Found | None = None  # of a long value, which goes on at ``i``
        while i <= last:
            lengths = known.get(squeezed_text[i : i + _PREFIX])
            found = None if lengths is None else self._match(plain, view, i, lengths)
            if found is None:
                if open_piece is not None:
                    yield open_piece
                open_piece, i = None, i + 1
                continue
            length, span = found
            if open_piece is not None:
                span = span._replace(start=open_piece.start)
            open_piece = span if length >= _PIECE else None
            if open_piece is None:
                yield span
            i += length
        if open_piece is not None:
            yield open_piece

    def _match(self, plain: str, view: View, i: int, lengths: list[int]) -> tuple[int, Found] | None:
        """The longest value at ``i`` of the squeezed text, if it stands by itself there."""
        for length in lengths:
            kind = self._kinds.get(view.text[i : i + length])
            if kind is None:
                continue
            start, end = view.source(i), view.source(i + length - 1) + 1
            if end - start > length and "\x00" * (_WIDEST_GAP + 1) in plain[start:end]:
                continue
            inside = _joined(plain, start) or _joined(plain, end)
            if not inside or length >= _CERTAIN:
                return length, Found(start, end, kind)
        return None


def _pieces(value: str) -> Iterator[str]:
    if len(value) <= _PIECE:
        if len(value) >= SHORTEST_VALUE and any(map(str.isalnum, value)):
            yield value
        return
    last = (len(value) // _PIECE - 1) * _PIECE  # the last piece takes what is left
    for start in range(0, last, _PIECE):
        yield value[start : start + _PIECE]
    yield value[last:]


def _joined(plain: str, at: int) -> bool:
    """Whether the characters on both sides of ``at`` belong to one word."""
    if not 0 < at < len(plain):
        return False
    a, b = plain[at - 1], plain[at]
    return a.isalnum() and b.isalnum() and max(ord(a), ord(b)) < _UNSPACED_FROM
