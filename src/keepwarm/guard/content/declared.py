"""What the task declares on purpose: text that may be new, or gone, or both.

A declared text is cut into pieces like any other; each may be a whole piece or a part of one. A placeholder
in it (``<id-1>`` or ``‹id›``) stands for a recorded value, which is not declared away: it must come from
what BEFORE had there.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from keepwarm.guard.content.pieces import Piece, Reading, text_pieces
from keepwarm.repair.task import DeclaredRepair

_PLACEHOLDER = re.compile(r"<[a-z]+(?:-[a-z]+){0,4}-[0-9]{1,9}>|‹[^‹›\n]{1,80}›")
_TOKEN = re.compile(r"\w+|[^\w\s]")
_GONE, _NEW = frozenset({"removed", "changed"}), frozenset({"added", "changed"})

Tokens = tuple[str, ...]


class Declarations(NamedTuple):
    """Patterns of what may be gone and what may be new; each holds once per request."""

    gone: tuple[re.Pattern[str], ...]
    new: tuple[re.Pattern[str], ...]


class _Rest(NamedTuple):
    """What of a piece is not explained yet; ``touched`` once a part of it is."""

    piece: Piece
    tokens: Tokens
    touched: bool = False


def declarations(repairs: Iterable[DeclaredRepair], reading: Reading) -> Declarations:
    """The repairs of text as patterns; ``moved`` ones are about places, not text."""
    gone: list[re.Pattern[str]] = []
    new: list[re.Pattern[str]] = []
    for repair in repairs:
        if repair.kind == "moved":
            continue
        patterns = [_pattern(piece.text) for piece in text_pieces(repair.text, reading)]
        gone += patterns if repair.kind in _GONE else []
        new += patterns if repair.kind in _NEW else []
    return Declarations(tuple(gone), tuple(new))


def unexplained(
    lost: Sequence[Piece],
    new: Sequence[Piece],
    declared: Declarations,
    is_stable: Callable[[Piece], bool],
) -> tuple[list[Piece], list[Piece]]:
    """The pieces of ``lost`` and ``new`` that the declarations leave unexplained.

    Words and punctuation that no declaration names must be the same on both sides: what is left of a line
    around a declared change, and every value, which is cut out of its line only where the line varies.
    """
    if not (declared.gone or declared.new):
        return list(lost), list(new)
    rests_lost, values_lost = _take(lost, declared.gone)
    rests_new, values_new = _take(new, declared.new)
    kept = Counter(values_lost) & Counter(values_new)
    open_new = list((Counter(values_new) - kept).elements())
    open_lost = list((Counter(values_lost) - kept).elements())
    for value in list(open_new):
        if _cut(rests_lost, value, lambda piece: not is_stable(piece)):
            open_new.remove(value)
    for value in list(open_lost):
        if _cut(rests_new, value, lambda _piece: True):
            open_lost.remove(value)
    _cancel(rests_lost, rests_new)
    return (
        [rest.piece for rest in rests_lost if rest.tokens] + [_as_piece(value) for value in open_lost],
        [rest.piece for rest in rests_new if rest.tokens] + [_as_piece(value) for value in open_new],
    )


def _pattern(text: str) -> re.Pattern[str]:
    parts = map(re.escape, _PLACEHOLDER.split(text.strip()))
    return re.compile("(.+?)".join(parts))


def _take(pieces: Sequence[Piece], patterns: Iterable[re.Pattern[str]]) -> tuple[list[_Rest], list[Tokens]]:
    """Each pattern taken out of the first piece that is it, else has it: the rests, and the values found."""
    rests = [_Rest(piece, _tokens(piece.text)) for piece in pieces]
    texts = [piece.text for piece in pieces]
    values: list[Tokens] = []
    for pattern in patterns:
        whole = [(n, pattern.fullmatch(text.strip())) for n, text in enumerate(texts) if not pieces[n].field]
        part = [(n, pattern.search(text)) for n, text in enumerate(texts) if not pieces[n].field]
        for n, match in (*whole, *part):
            if match is None:
                continue
            values += filter(None, map(_tokens, match.groups()))
            texts[n] = f"{match.string[: match.start()]} {match.string[match.end() :]}"
            rests[n] = _Rest(pieces[n], _tokens(texts[n]), touched=True)
            break
    return rests, values


def _cut(rests: list[_Rest], value: Tokens, may: Callable[[Piece], bool]) -> bool:
    """Take ``value`` out of the first rest that has its words in a row."""
    for n, rest in enumerate(rests):
        if rest.piece.field or not may(rest.piece):
            continue
        for at in range(len(rest.tokens) - len(value) + 1):
            if rest.tokens[at : at + len(value)] == value:
                left = rest.tokens[:at] + rest.tokens[at + len(value) :]
                rests[n] = _Rest(rest.piece, left, touched=True)
                return True
    return False


def _cancel(lost: list[_Rest], new: list[_Rest]) -> None:
    """What is left on both sides alike is explained, if a declaration or a value touched one of them."""
    for n, rest in enumerate(lost):
        for m, other in enumerate(new):
            if rest.tokens and rest.tokens == other.tokens and (rest.touched or other.touched):
                lost[n], new[m] = rest._replace(tokens=()), other._replace(tokens=())
                break


def _tokens(text: str) -> Tokens:
    return tuple(_TOKEN.findall(text))


def _as_piece(value: Tokens) -> Piece:
    return Piece("", " ".join(value))
