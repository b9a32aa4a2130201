"""The rule for chat templates that print the date."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from keepwarm.diagnose.findings import Evidence, Owner
from keepwarm.diagnose.fixes import FreezeClock
from keepwarm.diagnose.rules import _order
from keepwarm.diagnose.rules.base import Candidate, Rule
from keepwarm.diagnose.values import SlotType

if TYPE_CHECKING:
    from keepwarm.diagnose.view import SiteView

_LATER_S = 40 * 86_400 + 3 * 3600 + 25 * 60 + 11


class TemplateClock(Rule):
    """The chat template itself prints the date or time.

    Some templates state today's date at the top of the prompt, by the server's clock. The body of
    the request shows nothing of it, and all prefixes change at midnight, or at every minute.

    **Recognised by** rendering the same request at another time: the prompt changes.

    **Fix.** A template without the date, or one whose date is passed in as a fixed argument
    (`chat_template_kwargs`); a setting of the server, not of the application.

    **Not to be confused with** `clock`, where the application writes the date.
    """

    code = "template-clock"
    owner = Owner.TEMPLATE
    summary = "the chat template itself renders the date"
    suggestion = (
        "Use a chat template that does not print the date, or pass a fixed one with "
        "chat_template_kwargs; state the date in the newest message where the model needs it."
    )

    def candidates(self, view: SiteView) -> Iterable[Candidate]:
        """Sites whose rendering depends on the clock."""
        row = next((row for row in view.rows if row.messages and row.prompt_token_ids is None), None)
        if row is None:
            return
        request = view.catalog.request(row)
        here = view.traffic.rendered_text(request, row.time_s or 0.0)
        later = view.traffic.rendered_text(request, (row.time_s or 0.0) + _LATER_S)
        if here == later:
            return
        at = next((i for i, (a, b) in enumerate(zip(here, later, strict=False)) if a != b), 0)
        yield Candidate(
            path=None,
            rows=tuple(row.index for row in view.rows),
            confidence=0.95,
            evidence=Evidence(
                request=row.id,
                before=here[max(0, at - 60) : at],
                values=(here[at : at + 16], later[at : at + 16]),
                note="printed by the chat template, not by the application",
            ),
            order=_order.TEMPLATE_TOP,
            slot_type=SlotType.TIME.value,
            fixes=(FreezeClock(row.time_s, (row.index for row in view.rows)),),
        )
