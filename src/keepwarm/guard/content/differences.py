"""Everything that AFTER's text has more, less or elsewhere than BEFORE's, beyond what the task allows."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from keepwarm.guard.content.declared import Declarations, unexplained
from keepwarm.guard.content.messages import Message, align
from keepwarm.guard.content.moves import (
    Labels,
    Place,
    Rules,
    find_labels,
    first_out_of_order,
    is_in_order,
    runs,
)
from keepwarm.guard.content.pieces import Piece
from keepwarm.guard.content.stability import SitePieces

Kind = Literal["lost", "new", "other-role", "order", "moved", "white-space"]


class Difference(NamedTuple):
    """One piece that is not as it was; ``other`` is the piece or the role it became, where there is one."""

    kind: Kind
    role: str
    piece: Piece
    other: str = ""


class Allowed(NamedTuple):
    """What the task allows at a call site, and what the site's pieces are."""

    rules: Rules
    declared: Declarations
    site: SitePieces


class _Role:
    """The pieces of one role that left their message, and those that came into one."""

    def __init__(self) -> None:
        self.departures: list[tuple[Place, Piece]] = []
        self.arrivals: list[Piece] = []


class _Finder:
    def __init__(self, before: Sequence[Message], after: Sequence[Message], allowed: Allowed) -> None:
        self.before, self.after, self.allowed = before, after, allowed
        self.roles = {message.role: _Role() for message in (*before, *after)}
        self.labels: dict[str, Labels] = {}

    def find(self) -> list[Difference]:
        alignment = align(self.before, self.after, self.allowed.site.is_stable)
        found: list[Difference] = []
        for i, j in alignment.pairs:
            if self.before[i] != self.after[j]:
                found += self._pair(i, j)
        for i in alignment.only_before:
            self._depart(i, range(len(self.before[i].pieces)))
        for j in alignment.only_after:
            self.roles[self.after[j].role].arrivals += self.after[j].pieces
        lost: list[tuple[str, Piece]] = []
        new: list[tuple[str, Piece]] = []
        for role, pool in self.roles.items():
            found += self._moved(role, pool)
            rest = self._unexplained(role, pool)
            lost += [(role, piece) for piece in rest[0]]
            new += [(role, piece) for piece in rest[1]]
        return [*found, *_named(lost, new)]

    def _pair(self, i: int, j: int) -> Iterator[Difference]:
        """One message before and after: what left it, what came, and the order of what stayed."""
        first, second = self.before[i], self.after[j]
        around = None if self._may_move(i) else _around(first.pieces, second.pieces)
        if around is not None:
            self.roles[first.role].arrivals += around
            return
        common = Counter(first.pieces) & Counter(second.pieces)
        stayed, left = _split(first.pieces, common)
        kept, came = _split(second.pieces, common)
        self._depart(i, left)
        self.roles[first.role].arrivals += [second.pieces[k] for k in came]
        out = first_out_of_order(*self._anchored(i, stayed, j, kept))
        if out is not None:
            yield Difference("order", first.role, out)
        elif self._may_move(i):
            yield from self._broken_runs(first)

    def _anchored(
        self, i: int, stayed: Sequence[int], j: int, kept: Sequence[int]
    ) -> tuple[list[Piece], list[Piece]]:
        """What must be in one order: all of a message, or only its stable text without labels of values."""
        first, second = self.before[i], self.after[j]
        if not self._may_move(i):
            return [first.pieces[k] for k in stayed], [second.pieces[k] for k in kept]
        labels = self._labels(first.role)
        return (
            [first.pieces[k] for k in stayed if self._fixed(first, k) and (i, k) not in labels.before],
            [second.pieces[k] for k in kept if self._fixed(second, k) and (j, k) not in labels.after],
        )

    def _broken_runs(self, message: Message) -> Iterator[Difference]:
        """Passages whose sentences, or lists whose items, are in another order now."""
        if self.allowed.rules.any_order:
            return
        role, site = message.role, self.allowed.site
        pieces = [piece for other in self.after if other.role == role for piece in other.pieces]
        fixed, field = functools.partial(self._is_fixed, role), functools.partial(site.is_field, role)
        for run in runs(message, fixed, field):
            if not is_in_order(run, pieces):
                yield Difference("order", role, run[0])

    def _moved(self, role: str, pool: _Role) -> Iterator[Difference]:
        """Pieces that are in another message of their role now."""
        moved = Counter(piece for _, piece in pool.departures) & Counter(pool.arrivals)
        for (i, k), piece in pool.departures:
            if not moved[piece]:
                continue
            moved[piece] -= 1
            is_value = not self._fixed(self.before[i], k)
            if not self._may_move(i) or not (is_value or (i, k) in self._labels(role).before):
                yield Difference("moved", role, piece)

    def _unexplained(self, role: str, pool: _Role) -> tuple[list[Piece], list[Piece]]:
        gone, come = Counter(piece for _, piece in pool.departures), Counter(pool.arrivals)
        lost = _taken([piece for _, piece in pool.departures], gone - come)
        new = _taken(pool.arrivals, come - gone)
        if not lost and not new:
            return lost, new
        return unexplained(lost, new, self.allowed.declared, functools.partial(self._is_fixed, role))

    def _may_move(self, i: int) -> bool:
        return self.allowed.rules.moves_allowed and self.allowed.rules.movable(i)

    def _fixed(self, message: Message, k: int) -> bool:
        return self._is_fixed(message.role, message.pieces[k])

    def _is_fixed(self, role: str, piece: Piece) -> bool:
        """Whether a piece is the application's own text, or no text at all."""
        return bool(piece.field) or self.allowed.site.is_stable(role, piece)

    def _depart(self, i: int, places: Sequence[int]) -> None:
        message = self.before[i]
        self.roles[message.role].departures += [((i, k), message.pieces[k]) for k in places]

    def _labels(self, role: str) -> Labels:
        if role not in self.labels:
            self.labels[role] = find_labels(
                self.before,
                self.after,
                role,
                functools.partial(self._is_fixed, role),
                self.allowed.rules,
            )
        return self.labels[role]


def differences(
    before: Sequence[Message], after: Sequence[Message], allowed: Allowed
) -> tuple[Difference, ...]:
    """What differs between the messages of one request before and after; nothing if all is there."""
    return tuple(_Finder(before, after, allowed).find())


def _around(inner: Sequence[Piece], outer: Sequence[Piece]) -> list[Piece] | None:
    """What ``outer`` has before and after the whole of ``inner``; None if it does not hold it in one run."""
    if not inner:
        return list(outer)
    for at in range(len(outer) - len(inner) + 1):
        if outer[at : at + len(inner)] == inner:
            return [*outer[:at], *outer[at + len(inner) :]]
    return None


def _split(pieces: Sequence[Piece], common: Counter[Piece]) -> tuple[list[int], list[int]]:
    """Places of the pieces that are in ``common``, counted, and of the others."""
    left = Counter(common)
    inside, outside = [], []
    for k, piece in enumerate(pieces):
        if left[piece]:
            left[piece] -= 1
            inside.append(k)
        else:
            outside.append(k)
    return inside, outside


def _taken(pieces: Sequence[Piece], wanted: Counter[Piece]) -> list[Piece]:
    """Those of ``pieces`` that are ``wanted``, counted, in order."""
    return [pieces[k] for k in _split(pieces, wanted)[0]]


def _named(lost: Sequence[tuple[str, Piece]], new: Sequence[tuple[str, Piece]]) -> Iterator[Difference]:
    """What is lost and what is new, put together where one became the other."""
    rest = list(new)
    unpaired: list[tuple[str, Piece]] = []
    for role, piece in lost:
        other = next((item for item in rest if item[0] != role and _bare(item[1]) == _bare(piece)), None)
        if other is None:
            unpaired.append((role, piece))
        else:
            rest.remove(other)
            yield Difference("other-role", role, piece, other[0])
    for role, piece in unpaired:
        other = next((item for item in rest if item[0] == role and _bare(item[1]) == _bare(piece)), None)
        if other is None:
            yield Difference("lost", role, piece)
        else:
            rest.remove(other)
            yield Difference("white-space", role, piece, other[1].text)
    for role, piece in rest:
        yield Difference("new", role, piece)


def _bare(piece: Piece) -> tuple[str, str]:
    return piece.field, "".join(piece.text.split())
