"""The rule for text whose place changes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from keepwarm.diagnose.changes import ChangeKind
from keepwarm.diagnose.findings import Owner
from keepwarm.diagnose.rules._changes import history_candidate
from keepwarm.diagnose.rules.base import Candidate, Rule
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
