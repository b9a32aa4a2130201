"""The rule for counters in the prefix."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from keepwarm.diagnose.findings import Owner
from keepwarm.diagnose.rules._changes import value_candidates
from keepwarm.diagnose.rules.base import Candidate, Rule
from keepwarm.diagnose.values import SlotType

if TYPE_CHECKING:
    from keepwarm.diagnose.view import SiteView


class CounterRule(Rule):
    """A number that moves with every turn stands in the prefix.

    Turn numbers, remaining messages or tokens, budgets and progress move with each request, so
    a conversation loses its whole history at every turn. Counters repeat between sessions: the
    third turn of one session may well hit the third turn of another, which hides the loss from
    a look at hit rates alone.

    **Recognised by** a slot with a number that goes one way, up or down, within a session.

    **Fix.** State the count in the newest message, or tell the model only when it matters.

    **Not to be confused with** `clock`, whose values follow the time of the request.
    """

    code = "counter"
    owner = Owner.APP
    summary = "turn number, remaining budget, progress"
    suggestion = (
        "Move the count into the newest message, or mention it only when it matters (say, when the "
        "budget is nearly spent)."
    )

    def candidates(self, view: SiteView) -> Iterable[Candidate]:
        """Slots and re-rendered messages of type counter."""
        yield from value_candidates(view, SlotType.COUNTER)
