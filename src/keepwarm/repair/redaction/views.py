r"""A text seen without what only writes it differently, with the way back to the text.

One secret has many spellings: ``a@b.org`` is ``a%40b.org`` in a URL, ``a&#64;b.org`` in a page and
``\u0061@b.org`` in JSON; an IBAN comes in groups of four or in one; names lose accents and capitals.
"""

from __future__ import annotations

import bisect
import functools
import html
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

_LAYERS = 4  # JSON inside JSON inside a log line; what is wrapped more often is rare
_GAP = "\x00"  # stands for a character that a canonical text leaves out
_GAPS = re.compile(f"{_GAP}+")
_DROPPED = frozenset("-_.+‐‑‒–—'’`\\")
_ESCAPE = re.compile(
    r"\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[nrtbf\"'\\/])"
    r"|(?:%[0-9a-fA-F]{2}){1,64}"
    r"|&(?:\#[0-9]{1,7}|\#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});"
)
_SHORT = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}


class Piece(NamedTuple):
    """One character of a view, and how many characters of the source it stands for."""

    character: str
    width: int


class View:
    """Another spelling of a source text; ``source(i)`` is where its character ``i`` begins there."""

    def __init__(self, text: str, marks: Iterable[tuple[int, int]] = ()) -> None:
        self.text = text
        pairs = [(0, 0), *marks]
        self._view_at = [view for view, _ in pairs]
        self._source_at = [source for _, source in pairs]

    def source(self, index: int) -> int:
        """The place in the source; an end maps to the beginning of what follows."""
        n = bisect.bisect_right(self._view_at, index) - 1
        return self._source_at[n] + index - self._view_at[n]


def rewritten(text: str, pattern: re.Pattern[str], pieces: Callable[[str], Iterable[Piece]]) -> View:
    """``text`` with each match of ``pattern`` replaced by its ``pieces``, whose widths add up to it."""
    parts: list[str] = []
    marks: list[tuple[int, int]] = []
    at = read = 0
    for match in pattern.finditer(text):
        parts.append(text[read : match.start()])
        at += match.start() - read
        source = match.start()
        for piece in pieces(match[0]):
            marks.append((at, source))
            parts.append(piece.character)
            at, source = at + 1, source + piece.width
        marks.append((at, match.end()))
        read = match.end()
    parts.append(text[read:])
    return View("".join(parts), marks)


def decoded(text: str) -> list[View]:
    """``text`` without JSON, percent and HTML escapes: one view per layer that has any, each of the last."""
    layers: list[View] = []
    while len(layers) < _LAYERS:
        view = rewritten(text, _ESCAPE, _unescaped)
        if view.text == text:
            break
        layers.append(view)
        text = view.text
    return layers


def to_source(layers: Sequence[View], index: int) -> int:
    """Through all ``layers`` back to the text that ``decoded`` was given."""
    for view in reversed(layers):
        index = view.source(index)
    return index


def folded(text: str) -> str:
    """``text`` of the same length without case and accents; what spelling varies in is a gap."""
    return text.translate(_FOLDS)


def squeezed(folded_text: str) -> View:
    """A folded text without its gaps."""
    return rewritten(folded_text, _GAPS, lambda _gap: ())


@functools.lru_cache(4096)
def canonical(value: str) -> str:
    """What all spellings of ``value`` have in common."""
    layers = decoded(value)
    return folded(layers[-1].text if layers else value).replace(_GAP, "")


def _unescaped(escape: str) -> Iterable[Piece]:
    if escape[0] == "%":
        return _percent(escape)
    if escape[0] == "&":
        text = html.unescape(escape)
        return (Piece(text if len(text) == 1 else " ", len(escape)),)
    if escape[1] in "ux":
        return (Piece(chr(int(f"0x{escape[2:]}", base=0)), len(escape)),)
    return (Piece(_SHORT.get(escape[1], escape[1]), 2),)


def _percent(escape: str) -> Iterable[Piece]:
    raw = bytes.fromhex(escape.replace("%", ""))
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return [Piece(chr(byte), 3) for byte in raw]
    return [Piece(character, 3 * len(character.encode())) for character in text]


class _Folds(dict[int, str]):
    """Per code point: one character without case and accents, or a gap. Filled as it is asked."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if character.isspace() or character in _DROPPED or unicodedata.category(character) in _UNSEEN:
            fold = _GAP
        else:
            fold = unicodedata.normalize("NFKD", character)[0].casefold()[0]
        self[code] = fold
        return fold


_UNSEEN = frozenset({"Mn", "Me", "Cf", "Cc"})  # combining marks, format and control characters
_FOLDS = _Folds()
