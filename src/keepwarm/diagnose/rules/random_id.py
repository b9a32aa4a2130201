"""The rule for fresh identifiers in the prefix."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from keepwarm.diagnose.changes import ChangeKind
from keepwarm.diagnose.findings import Owner
from keepwarm.diagnose.rules._changes import change_candidates
from keepwarm.diagnose.rules._slots import slot_candidates
from keepwarm.diagnose.rules.base import Candidate, Rule
from keepwarm.diagnose.values import SlotType

if TYPE_CHECKING:
    from keepwarm.diagnose.view import SiteView


class RandomId(Rule):
    """An identifier made fresh for each request stands in the prefix.

    UUIDs, nonces, request or trace ids and cache-busting keys are different every time by
    design, so no two requests share anything behind them. The same happens when tool-call ids
    are made up again at every replay of the history.

    **Recognised by** a slot whose values look like identifiers, are new in nearly every request
    and change within a session.

    **Fix.** Leave the id out of the prompt: send it as a header or as request metadata. If the
    model has to repeat it, put it at the very end.

    **Not to be confused with** `identity`: an id that says who or which conversation it is stays
    the same within a session.
    """

    code = "random-id"
    owner = Owner.APP
    summary = "uuid, nonce, request or call id, cache-busting key"
    suggestion = (
        "Take the per-request id out of the prompt and send it as a header or as request metadata; if "
        "the model needs it, put it at the end of the newest message."
    )

    def candidates(self, view: SiteView) -> Iterable[Candidate]:
        """Slots of type id, and history in which ids are made anew."""
        yield from slot_candidates(view, SlotType.ID)
        changes = [
            c
            for c in view.changes
            if c.kind is ChangeKind.CALL_ID or (c.kind is ChangeKind.VALUE and c.slot_type is SlotType.ID)
        ]
        yield from change_candidates(view, changes, SlotType.ID)
