"""What may stand elsewhere after a repair, and what must keep its order.

Only pieces that vary between the requests of a call site may move, only out of the messages the task names,
and only within their role. What the application says itself keeps its order; a label moves along with the
value it labels. Free text (a passage, a list of them) keeps its order in itself; a field has none to keep.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from keepwarm.guard.content.messages import Message
from keepwarm.guard.content.pieces import Piece

_LABEL_BEFORE, _LABEL_AFTER = 2, 1  # stable pieces: a heading and a sentence before a value, what closes it

Place = tuple[int, int]  # message, piece in it


class Rules(NamedTuple):
    """What one task allows: ``movable`` says of a message's index whether its values may move."""

    moves_allowed: bool
    movable: Callable[[int], bool]
    any_order: bool  # of the values among themselves: the task is about their order


class Labels(NamedTuple):
    """Places of stable pieces that stand beside the same value in the same way before and after."""

    before: frozenset[Place]
    after: frozenset[Place]


def find_labels(
    before: Sequence[Message],
    after: Sequence[Message],
    role: str,
    is_stable: Callable[[Piece], bool],
    rules: Rules,
) -> Labels:
    """The labels of the values that may move; none where nothing may."""
    first, second = _laid_out(before, role), _laid_out(after, role)
    places: dict[Piece, list[int]] = defaultdict(list)
    for n, item in enumerate(second):
        if item is not None:
            places[item[1]].append(n)
    found_before: set[Place] = set()
    found_after: set[Place] = set()
    for n, item in enumerate(first):
        if item is None or not rules.moves_allowed or not rules.movable(item[0][0]) or is_stable(item[1]):
            continue
        if not places[item[1]]:
            continue
        m = places[item[1]].pop(0)
        for step, most in ((-1, _LABEL_BEFORE), (1, _LABEL_AFTER)):
            for a, b in _beside(first, n, second, m, step, most):
                if not is_stable(a[1]):
                    break
                found_before.add(a[0])
                found_after.add(b[0])
    return Labels(frozenset(found_before), frozenset(found_after))


def runs(
    message: Message, is_stable: Callable[[Piece], bool], is_field: Callable[[Piece], bool]
) -> list[list[Piece]]:
    """The free text of a message in runs, each of which must keep its order.

    Stable text ends a run, unless it stands more than once in the message: then it is what a list repeats
    between its items, and the items are one run.
    """
    bag = Counter(message.pieces)
    found: list[list[Piece]] = [[]]
    for piece in message.pieces:
        if is_stable(piece):
            if bag[piece] == 1:
                found.append([])
        elif not is_field(piece):
            found[-1].append(piece)
    return [run for run in found if run]


def is_in_order(run: Sequence[Piece], pieces: Sequence[Piece]) -> bool:
    """Whether those pieces of ``run`` that are in ``pieces`` stand in the same order there."""
    left = Counter(pieces)
    rest = iter(pieces)
    for piece in run:
        if left[piece]:
            left[piece] -= 1
            if piece not in rest:
                return False
    return True


def first_out_of_order(before: Sequence[Piece], after: Sequence[Piece]) -> Piece | None:
    """Where two sequences of the same pieces part; None if they do not."""
    return next((a for a, b in zip(before, after, strict=False) if a != b), None)


_Item = tuple[Place, Piece] | None  # None: the end of a message


def _laid_out(messages: Sequence[Message], role: str) -> list[_Item]:
    items: list[_Item] = [None]
    for i, message in enumerate(messages):
        if message.role == role:
            items += [((i, k), piece) for k, piece in enumerate(message.pieces)]
            items.append(None)
    return items


def _beside(
    first: Sequence[_Item], n: int, second: Sequence[_Item], m: int, step: int, most: int
) -> Iterator[tuple[tuple[Place, Piece], tuple[Place, Piece]]]:
    """Neighbours that are the same on both sides, nearest first, at most ``most``."""
    for distance in range(1, most + 1):
        a, b = first[n + step * distance], second[m + step * distance]
        if a is None or b is None or a[1] != b[1]:
            return
        yield a, b
