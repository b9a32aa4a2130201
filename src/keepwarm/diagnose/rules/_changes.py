"""What the rules about history that is sent again otherwise have in common."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from keepwarm.diagnose.changes import Change, ChangeKind
from keepwarm.diagnose.findings import Evidence
from keepwarm.diagnose.fixes import Fix, KeepHistory, ReplaceContent
from keepwarm.diagnose.rules import _order
from keepwarm.diagnose.rules._slots import slot_candidates
from keepwarm.diagnose.rules.base import Anchor, Candidate
from keepwarm.diagnose.values import SlotType
from keepwarm.diagnose.view import SiteView
from keepwarm.trace.contents import ContentId


def change_candidates(
    view: SiteView, changes: Sequence[Change], slot_type: SlotType | None
) -> Iterator[Candidate]:
    """One candidate for messages that are sent again in other words: send them as at first.

    Messages in which a slot of the type was found have their candidate already.
    """
    found = {slot.place.path() for slot in view.slots if slot.type is slot_type}
    changes = [change for change in changes if change.path not in found]
    if changes:
        first = _first(changes)
        values = (first.old_value, first.new_value)
        fix = _as_first_sent(view, changes)
        yield _candidate(view, changes, fix, path=_newer_path(first), values=values, slot_type=slot_type)


def value_candidates(view: SiteView, slot_type: SlotType) -> Iterator[Candidate]:
    """Slots of a type in stable texts, and in messages that are rendered anew with another value."""
    yield from slot_candidates(view, slot_type)
    changes = [c for c in view.changes if c.kind is ChangeKind.VALUE and c.slot_type is slot_type]
    yield from change_candidates(view, changes, slot_type)


def history_candidate(view: SiteView, changes: Sequence[Change], moved: Sequence[str]) -> Candidate:
    """A candidate whose fix lets conversations grow without touching what was sent."""
    first = _first(changes)
    values = tuple(value for value in (first.old_value, first.new_value) if value)
    fix = KeepHistory(view.alignments, moved, (row.index for row in view.rows))
    return _candidate(view, changes, fix, path=first.path, values=values, slot_type=None)


def _candidate(
    view: SiteView,
    changes: Sequence[Change],
    fix: Fix,
    *,
    path: str,
    values: tuple[str, ...],
    slot_type: SlotType | None,
) -> Candidate:
    """All ``changes`` as one, shown by the first; ``path`` is where it stands in the newer request."""
    first = _first(changes)
    parent, row = (view.catalog.rows[i] for i in (first.edit.parent, first.edit.row))
    return Candidate(
        path=first.path,
        rows=tuple(sorted({change.edit.row for change in changes})),
        confidence=min(change.confidence for change in changes),
        evidence=Evidence(
            request=row.id,
            compared_with=parent.id,
            before=first.before,
            values=values,
            after=first.after,
        ),
        order=_order.in_history(first.edit.old_index),
        slot_type=None if slot_type is None else slot_type.value,
        fixes=(fix,),
        anchor=Anchor(row.index, path, 0),
    )


def _first(changes: Sequence[Change]) -> Change:
    """The one that stands furthest up, of those the earliest."""
    return min(changes, key=lambda change: (change.edit.old_index, change.edit.row))


def _as_first_sent(view: SiteView, changes: Sequence[Change]) -> Fix:
    """A fix that replaces every later variant of a message by its first one."""
    first: dict[ContentId, ContentId] = {}
    for change in sorted(changes, key=lambda change: change.edit.row):
        old, new = change.edit.old, change.edit.new
        if new is None:
            continue
        root = first.get(old, old)
        if new != root:
            first.setdefault(new, root)
    return ReplaceContent(view.catalog, first, (row.index for row in view.rows))


def _newer_path(change: Change) -> str:
    """The path of the change in the newer request, where the message may stand elsewhere."""
    index = change.edit.new_index if change.edit.new_index is not None else change.edit.old_index
    return f"messages[{index}]" + change.path.partition("]")[2]
