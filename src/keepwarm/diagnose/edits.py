"""How a request differs from the earlier one it continues, beyond what it adds at the end.

A conversation that only grows has no edits. Neither has a rewind or a branch: there the
request leaves its predecessor for good, and nothing of the predecessor comes back later.
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Sequence

import msgspec
from rapidfuzz.distance import LCSseq

from keepwarm.diagnose.words import share_of_words
from keepwarm.trace.catalog import HEAD_ROLES, Catalog, Row, message_text
from keepwarm.trace.contents import ContentId

_ALIKE = 0.6


class EditKind(enum.StrEnum):
    """What happened to a message of the predecessor."""

    CHANGED = "changed"
    DROPPED = "dropped"
    MOVED = "moved"


class Edit(msgspec.Struct, frozen=True, kw_only=True):
    """One message of ``parent`` (at ``old_index``) that ``row`` does not repeat as it was.

    ``new_index`` is where it stands in ``row``, ``None`` when it is gone.
    """

    kind: EditKind
    row: int
    parent: int
    old_index: int
    new_index: int | None
    old: ContentId
    new: ContentId | None


class Alignment(msgspec.Struct, frozen=True, kw_only=True):
    """Messages of a request laid beside those of its predecessor.

    ``pairs`` are (old index, new index), both rising but for moved messages; ``added`` are new
    indices without a partner, ``is_append`` when the predecessor is simply continued.
    """

    pairs: tuple[tuple[int, int], ...]
    added: tuple[int, ...]
    edits: tuple[Edit, ...]
    is_append: bool


def align(catalog: Catalog, parent: Row, row: Row) -> Alignment:
    """Lay ``row`` beside ``parent``; see ``Alignment``."""
    old, new = parent.messages, row.messages
    start = _common_prefix(old, new)
    pairs = [(i, i) for i in range(start)]
    if start < len(old):
        pairs += _later_pairs(catalog, old, new, start)
    if not _continues(old, new, pairs, start):
        pairs = [(i, j) for i, j in pairs if i < start]
        return _alignment(pairs, new, (), is_append=start == len(old))
    edits = _edits(catalog, parent, row, pairs)
    return _alignment(pairs, new, edits, is_append=not edits)


def _alignment(
    pairs: Sequence[tuple[int, int]], new: Sequence[ContentId], edits: Sequence[Edit], *, is_append: bool
) -> Alignment:
    taken = {j for _, j in pairs}
    added = tuple(j for j in range(len(new)) if j not in taken)
    return Alignment(pairs=tuple(pairs), added=added, edits=tuple(edits), is_append=is_append)


def _common_prefix(old: Sequence[ContentId], new: Sequence[ContentId]) -> int:
    shorter = min(len(old), len(new))
    return next((i for i in range(shorter) if old[i] != new[i]), shorter)


def _later_pairs(
    catalog: Catalog, old: Sequence[ContentId], new: Sequence[ContentId], start: int
) -> list[tuple[int, int]]:
    """Partners beyond the common prefix: equal beginnings first, then alike messages in between."""
    old_keys: list[int | None] = [catalog.message_key(content) for content in old[start:]]
    new_keys: list[int | None] = [catalog.message_key(content) for content in new[start:]]
    if new_keys and new[-1] not in old[start:]:
        new_keys[-1] = None  # the newest message is new, even if it begins like an old one
    pairs: list[tuple[int, int]] = []
    pending: tuple[int, int] = (start, start)
    for op in LCSseq.opcodes(old_keys, new_keys):
        if op.tag != "equal":
            continue
        pairs += _alike(catalog, old, new, pending, (op.src_start + start, op.dest_start + start))
        pairs += [
            (i + start, i - op.src_start + op.dest_start + start) for i in range(op.src_start, op.src_end)
        ]
        pending = (op.src_end + start, op.dest_end + start)
    pairs += _alike(catalog, old, new, pending, (len(old), len(new)))
    return pairs


def _alike(
    catalog: Catalog,
    old: Sequence[ContentId],
    new: Sequence[ContentId],
    begin: tuple[int, int],
    end: tuple[int, int],
) -> list[tuple[int, int]]:
    """Partners within one stretch that has no equal keys: same role, and alike or in the same place."""
    closed = end != (len(old), len(new))
    same_shape = closed and end[0] - begin[0] == end[1] - begin[1]
    pairs: list[tuple[int, int]] = []
    next_new = begin[1]
    for i in range(begin[0], end[0]):
        role = catalog.message(old[i]).get("role")
        for j in range(next_new, end[1]):
            if catalog.message(new[j]).get("role") != role:
                continue
            in_place = same_shape and i - begin[0] == j - begin[1]
            if in_place or _are_alike(catalog, old[i], new[j]):
                pairs.append((i, j))
                next_new = j + 1
                break
    return pairs


def _are_alike(catalog: Catalog, a: ContentId, b: ContentId) -> bool:
    first, second = catalog.message(a), catalog.message(b)
    call_id = first.get("tool_call_id")
    if call_id is not None and call_id == second.get("tool_call_id"):
        return True
    a_text, b_text = message_text(first), message_text(second)
    return bool(a_text) and bool(b_text) and share_of_words(a_text, b_text) >= _ALIKE


def _continues(
    old: Sequence[ContentId], new: Sequence[ContentId], pairs: Sequence[tuple[int, int]], start: int
) -> bool:
    """Whether the request carries on from its predecessor's end, however edited.

    A changed message that is the request's last one is a question asked again, not history.
    """
    later = [(i, j) for i, j in pairs if i >= start and not (j == len(new) - 1 and old[i] != new[j])]
    return start == len(old) or bool(later)


def _edits(catalog: Catalog, parent: Row, row: Row, pairs: Sequence[tuple[int, int]]) -> list[Edit]:
    partner = dict(pairs)
    last_old = max(partner)
    gone = [i for i in range(last_old) if i not in partner]
    moved = set() if gone else _moved(pairs, len(parent.messages))
    again = _sent_again(parent, row, gone, partner)
    edits = []
    for i in range(last_old + 1):
        j = partner.get(i)
        if j is None:
            j = again.get(i)
            kind = EditKind.DROPPED if j is None else EditKind.MOVED
        elif i in moved:
            kind = EditKind.MOVED
        elif parent.messages[i] != row.messages[j] and not _both_heads(catalog, parent, row, i, j):
            kind = EditKind.CHANGED
        else:
            continue
        edits.append(
            Edit(
                kind=kind,
                row=row.index,
                parent=parent.index,
                old_index=i,
                new_index=j,
                old=parent.messages[i],
                new=None if j is None else row.messages[j],
            )
        )
    return edits


def _sent_again(parent: Row, row: Row, gone: Sequence[int], partner: dict[int, int]) -> dict[int, int]:
    """Where messages that are gone from their place stand now, if most of them do.

    A window that drops old turns may drop a question that is just being asked again.
    """
    taken = set(partner.values())
    added = {content: j for j, content in enumerate(row.messages) if j not in taken}
    again = {i: added[parent.messages[i]] for i in gone if parent.messages[i] in added}
    return again if 2 * len(again) > len(gone) else {}


def _moved(pairs: Sequence[tuple[int, int]], old_count: int) -> set[int]:
    """Old messages before which new ones were put: what stood there now stands later."""
    for (i, j), (next_i, next_j) in itertools.pairwise(pairs):
        if next_i - i == 1 and next_j - j > 1:
            return set(range(next_i, old_count))
    return set()


def _both_heads(catalog: Catalog, parent: Row, row: Row, i: int, j: int) -> bool:
    """System texts that differ are compared over the whole call site, not here."""
    return i == j and all(
        catalog.message(content).get("role") in HEAD_ROLES
        for content in (*parent.messages[: i + 1], *row.messages[: j + 1])
    )
