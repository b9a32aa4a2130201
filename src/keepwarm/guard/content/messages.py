"""Which message of BEFORE is which of AFTER: in order, of one role, sharing most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from keepwarm.guard.content.pieces import Piece

_SAME = 1_000_000  # more than any two unequal messages share


class Message(NamedTuple):
    """A role and the pieces of the content."""

    role: str
    pieces: tuple[Piece, ...]


class Alignment(NamedTuple):
    """Pairs of indices in order, and the messages that have no counterpart."""

    pairs: tuple[tuple[int, int], ...]
    only_before: tuple[int, ...]
    only_after: tuple[int, ...]


def align(before: Sequence[Message], after: Sequence[Message]) -> Alignment:
    """Pair messages. Messages of unequal roles are never a pair; order is kept."""
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    end = 0
    while end < min(len(before), len(after)) - start and before[-1 - end] == after[-1 - end]:
        end += 1
    middle = _best(before[start : len(before) - end], after[start : len(after) - end])
    pairs = [(i, i) for i in range(start)]
    pairs += [(start + i, start + j) for i, j in middle]
    pairs += [(len(before) - k, len(after) - k) for k in range(end, 0, -1)]
    firsts, seconds = {i for i, _ in pairs}, {j for _, j in pairs}
    return Alignment(
        tuple(pairs),
        tuple(i for i in range(len(before)) if i not in firsts),
        tuple(j for j in range(len(after)) if j not in seconds),
    )


def _best(before: Sequence[Message], after: Sequence[Message]) -> list[tuple[int, int]]:
    """The pairs in order that share most pieces: dynamic programming over prefixes."""
    bags = [[Counter(message.pieces) for message in side] for side in (before, after)]

    def worth(i: int, j: int) -> int:
        if before[i].role != after[j].role:
            return 0
        return _SAME if before[i] == after[j] else 1 + (bags[0][i] & bags[1][j]).total()

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
