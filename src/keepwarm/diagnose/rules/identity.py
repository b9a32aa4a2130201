"""The rule for identities in front of shared content."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from keepwarm.diagnose.findings import Owner
from keepwarm.diagnose.rules._slots import slot_candidates
from keepwarm.diagnose.rules.base import Candidate, Rule
from keepwarm.diagnose.values import SlotType

if TYPE_CHECKING:
    from keepwarm.diagnose.view import SiteView


class Identity(Rule):
    """Who is asking stands in front of what all of them share.

    A user's name, a tenant, a session id or a locale near the top makes one copy of the shared
    instructions per user. Turns of one session still hit; the first turn of every other session
    computes the whole text again, and the cache holds it once per user.

    **Recognised by** a slot that is constant within a session and differs between sessions; in
    single calls, by short values that return or that are no fresh ids.

    **Fix.** Put the shared instructions first and the identity after them.

    **Not to be confused with** `random-id`, which changes with every request, and `clock`, if a
    session states the time at which it began.
    """

    code = "identity"
    owner = Owner.APP
    summary = "user, tenant, session or locale before shared content"
    suggestion = (
        "Put the instructions that all users share first and the user's details behind them, at the end"
        " of the system prompt or in the first user message."
    )

    def candidates(self, view: SiteView) -> Iterable[Candidate]:
        """Slots of type identity."""
        yield from slot_candidates(view, SlotType.IDENTITY)
