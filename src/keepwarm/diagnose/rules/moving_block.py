"""The rule for text whose place changes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from keepwarm.diagnose.changes import Change, ChangeKind
from keepwarm.diagnose.findings import Evidence, Owner
from keepwarm.diagnose.fixes import KeepHistory
from keepwarm.diagnose.rules import _order
from keepwarm.diagnose.rules.base import Anchor, Candidate, Rule
from keepwarm.diagnose.rules.example_order import example_messages

if TYPE_CHECKING:
    from keepwarm.diagnose.view import SiteView


class MovingBlock(Rule):
    """Stable text moves to another place with every turn.

    A document that is attached to the newest question and taken off the previous one, or a
    reminder that always comes last: the text stays the same, yet the turn it was taken from is
    not what the server has cached, and the text itself is computed again at its new place.

    **Recognised by** text that is missing where the request before had it and that stands in a
    later message of the same request.

    **Fix.** Leave the block where it was first sent; put what has to be last into the newest
    message only if it may stay there.

    **Not to be confused with** `retrieved-context`, where another text comes each time, and
    `history-rewrite`, where the text is gone.
    """

    code = "moving-block"
    owner = Owner.APP
    summary = "stable text whose position moves (a document re-attached to the newest turn)"
    suggestion = (
        "Attach the text once and leave it there in the history, or put it into the system prompt; do "
        "not take it off the earlier message."
    )

    def candidates(self, view: SiteView) -> Iterable[Candidate]:
        """Messages or parts of messages that moved towards the end."""
        examples = example_messages(view)
        changes = [c for c in view.changes if c.kind is ChangeKind.MOVED and c.edit.old not in examples]
        if changes:
            yield history_candidate(view, changes, sorted({text for c in changes for text in c.moved}))


def history_candidate(view: SiteView, changes: Sequence[Change], moved: Sequence[str]) -> Candidate:
    """A candidate whose fix lets conversations grow without touching what was sent."""
    first = min(changes, key=lambda change: (change.edit.old_index, change.edit.row))
    rows = tuple(sorted({change.edit.row for change in changes}))
    row, parent = view.catalog.rows[first.edit.row], view.catalog.rows[first.edit.parent]
    return Candidate(
        path=first.path,
        rows=rows,
        confidence=min(change.confidence for change in changes),
        evidence=Evidence(
            request=row.id,
            compared_with=parent.id,
            before=first.before,
            values=tuple(value for value in (first.old_value, first.new_value) if value),
            after=first.after,
        ),
        order=_order.in_history(first.edit.old_index),
        fixes=(KeepHistory(view.alignments, moved, (row.index for row in view.rows)),),
        anchor=Anchor(row.index, first.path, 0),
    )
