"""The rule for history that is edited."""

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


class HistoryRewrite(Rule):
    """An earlier message is edited, truncated, compacted or dropped.

    A window that slides with every turn, tool output replaced by a stub once it is old, thinking
    that is stripped on replay: from the first message that is not as it was sent, the server
    computes everything again, at every turn.

    **Recognised by** a conversation that goes on while an earlier message of it is gone or
    reads differently, and none of the more particular causes explains the difference.

    **Fix.** Append only. If the history has to shrink, do it rarely and by much, so that many turns
    share the result.

    **Not to be confused with** a rewind or a branch, where a session goes on from an earlier
    point: nothing is lost there.
    """

    code = "history-rewrite"
    owner = Owner.APP
    summary = "an earlier message edited, truncated, compacted, dropped"
    suggestion = (
        "Let the conversation only grow. If it must shrink, cut or compact rarely and by a large step, "
        "so that many turns share the new prefix."
    )

    def candidates(self, view: SiteView) -> Iterable[Candidate]:
        """Messages that are gone or read differently, shuffled examples aside."""
        examples = example_messages(view)
        changes = [c for c in view.changes if c.kind is ChangeKind.REWRITTEN and c.edit.old not in examples]
        if changes:
            yield history_candidate(view, changes, ())
