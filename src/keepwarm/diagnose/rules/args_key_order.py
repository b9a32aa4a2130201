"""The rule for re-serialised tool-call arguments."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from keepwarm.diagnose.changes import Change, ChangeKind
from keepwarm.diagnose.findings import Owner
from keepwarm.diagnose.rules._changes import change_candidates
from keepwarm.diagnose.rules.base import Candidate, Rule
from keepwarm.diagnose.values import SlotType

if TYPE_CHECKING:
    from keepwarm.diagnose.view import SiteView


class ArgsKeyOrder(Rule):
    """Arguments that the model wrote are serialised again when the history is replayed.

    The application decodes a tool call's arguments, keeps an object and encodes it for the next
    request. Another key order, other spacing or other escapes, and the history differs from
    what the server has cached, from the first tool call on.

    **Recognised by** tool calls of the history whose arguments are equal as JSON and different as
    text from one request to the next.

    **Fix.** Keep the string the model sent and replay it untouched. Sorting keys everywhere is no
    fix: the server has cached the model's order, not the sorted one.

    **Not to be confused with** `schema-key-order`, for JSON that the application wrote.
    """

    code = "args-key-order"
    owner = Owner.MODEL
    summary = "the model's own tool-call arguments re-serialised on replay"
    suggestion = (
        "Store the argument string exactly as the model sent it and replay that; do not decode and "
        "encode it, and do not sort its keys."
    )

    def candidates(self, view: SiteView) -> Iterable[Candidate]:
        """Arguments equal as JSON, different as text."""
        changes: list[Change] = [c for c in view.changes if c.kind is ChangeKind.ARGS]
        yield from change_candidates(view, changes, SlotType.KEY_ORDER)
