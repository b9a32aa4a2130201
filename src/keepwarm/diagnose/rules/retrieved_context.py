"""The rule for passages in front of shared content."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from keepwarm.diagnose.findings import Owner
from keepwarm.diagnose.rules._slots import slot_candidates
from keepwarm.diagnose.rules.base import Candidate, Rule
from keepwarm.diagnose.values import SlotType

if TYPE_CHECKING:
    from keepwarm.diagnose.view import SiteView


class RetrievedContext(Rule):
    """Text chosen for one request stands in front of text that all requests share.

    Retrieved passages, memories, file listings, or the request's own input differ from call to
    call. What stands behind them is computed again each time, however stable it is.

    **Recognised by** a slot with long or free text, neither a time nor an id, that varies between
    requests while stable text follows it.

    **Fix.** Stable instructions first, then the conversation, then what was fetched for this turn.

    **Not to be confused with** `moving-block`, where it is the place and not the text that
    changes, and `identity`, for short details that stay within a session.
    """

    code = "retrieved-context"
    owner = Owner.APP
    summary = "retrieved passage, memory, file listing or the request's own input before shared content"
    suggestion = (
        "Put the stable instructions first and the retrieved or per-request text behind them, as close "
        "to the end of the prompt as it can go."
    )

    def candidates(self, view: SiteView) -> Iterable[Candidate]:
        """Slots of type passage."""
        yield from slot_candidates(view, SlotType.PASSAGE)
