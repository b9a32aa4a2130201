"""The rule for dates and times in the prefix."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from keepwarm.diagnose.findings import Owner
from keepwarm.diagnose.rules._changes import value_candidates
from keepwarm.diagnose.rules.base import Candidate, Rule
from keepwarm.diagnose.values import SlotType

if TYPE_CHECKING:
    from keepwarm.diagnose.view import SiteView


class Clock(Rule):
    """A date or time is rendered into the prefix.

    Every request states another moment, so everything behind the date is computed again: a
    system prompt that opens with the time to the second never hits the cache at all, one with
    the date misses once a day.

    **Recognised by** a slot of an otherwise stable text (system prompt, tool description,
    leading message) whose values are dates or times near the time of their request. A date far
    from it, such as a year of birth, is not a clock.

    **Fix.** State the time behind the shared text: in the newest user message, or in a tool the
    model can ask. Rounding to the hour or the day is second best, it still breaks at each change.

    **Not to be confused with** `template-clock`, where the chat template prints the date and the
    body of the request shows none, and `counter`, whose numbers follow turns and not time.
    """

    code = "clock"
    owner = Owner.APP
    summary = "date or time rendered into the prefix"
    suggestion = (
        "Move the date or time behind the shared text, into the newest user message, or let the model "
        "ask for it with a tool. Rounding it only makes the break rarer."
    )

    def candidates(self, view: SiteView) -> Iterable[Candidate]:
        """Slots and re-rendered messages of type time."""
        yield from value_candidates(view, SlotType.TIME)
