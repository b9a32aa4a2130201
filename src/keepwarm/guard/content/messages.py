"""Which message of BEFORE is which of AFTER: in order, of one role, sharing most of the application's text.

A message is what the application says in it: a long passage that moved into a message of its own does not
take the identity of the message along.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from keepwarm.guard.content.pieces import Piece

_SAME = 1 << 40  # more than any two unequal messages share
_OWN = 1 << 20  # more than all pieces that vary in one message


class Message(NamedTuple):
    """A role and the pieces of the content."""

    role: str
    pieces: tuple[Piece, ...]


IsOwn = Callable[[str, Piece], bool]
"""Whether a piece of a role is the application's own text."""


class Alignment(NamedTuple):
    """Pairs of indices in order, and the messages that have no counterpart."""

    pairs: tuple[tuple[int, int], ...]
    only_before: tuple[int, ...]
    only_after: tuple[int, ...]


def align(before: Sequence[Message], after: Sequence[Message], is_own: IsOwn) -> Alignment:
    """Pair messages. Messages of unequal roles are never a pair; order is kept."""
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    end = 0
    while end < min(len(before), len(after)) - start and before[-1 - end] == after[-1 - end]:
        end += 1
    middle = _best(before[start : len(before) - end], after[start : len(after) - end], is_own)
    pairs = [(i, i) for i in range(start)]
    pairs += [(start + i, start + j) for i, j in middle]
    pairs += [(len(before) - k, len(after) - k) for k in range(end, 0, -1)]
    firsts, seconds = {i for i, _ in pairs}, {j for _, j in pairs}
    return Alignment(
        tuple(pairs),
        tuple(i for i in range(len(before)) if i not in firsts),
        tuple(j for j in range(len(after)) if j not in seconds),
    )


def _best(before: Sequence[Message], after: Sequence[Message], is_own: IsOwn) -> list[tuple[int, int]]:
    """The pairs in order that share most pieces: dynamic programming over prefixes."""
    bags = [[Counter(message.pieces) for message in side] for side in (before, after)]

    def worth(i: int, j: int) -> int:
        if before[i].role != after[j].role:
            return 0
        if before[i] == after[j]:
            return _SAME
        common = bags[0][i] & bags[1][j]
        role = before[i].role
        return 1 + sum(n * (_OWN if is_own(role, piece) else 1) for piece, n in common.items())

    best = [[0] * (len(after) + 1) for _ in range(len(before) + 1)]
    gain = [[worth(i, j) for j in range(len(after))] for i in range(len(before))]
    for i in range(len(before) - 1, -1, -1):
        for j in range(len(after) - 1, -1, -1):
            both = gain[i][j] + best[i + 1][j + 1] if gain[i][j] else 0
            best[i][j] = max(both, best[i + 1][j], best[i][j + 1])
    pairs, i, j = [], 0, 0
    while i < len(before) and j < len(after):
        if gain[i][j] and best[i][j] == gain[i][j] + best[i + 1][j + 1]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs
