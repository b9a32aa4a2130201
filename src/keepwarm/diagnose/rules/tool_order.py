"""The rule for tools in another order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from keepwarm.diagnose.findings import Evidence, Owner
from keepwarm.diagnose.fixes import OrderTools
from keepwarm.diagnose.rules import _order
from keepwarm.diagnose.rules.base import Anchor, Candidate, Rule
from keepwarm.diagnose.values import SlotType

if TYPE_CHECKING:
    from keepwarm.diagnose.view import SiteView


class ToolOrder(Rule):
    """The same tools come in another order.

    Tools gathered in a set or an unordered map, or registered by servers that start in whatever
    order, are printed near the top of the prompt. The prefix ends at the first one that stands
    elsewhere.

    **Recognised by** tool lists with the same names in another order.

    **Fix.** Sort the tools by name, or keep the order in which they are declared.

    **Not to be confused with** `tool-set`, where tools come and go, and `schema-key-order`, where
    a definition is written differently.
    """

    code = "tool-order"
    owner = Owner.APP
    summary = "the same tools in another order"
    suggestion = "Send the tools in one fixed order, for instance sorted by name."

    def candidates(self, view: SiteView) -> Iterable[Candidate]:
        """Lists whose order is not that of first appearance."""
        tools = view.tools
        if not tools.reordered:
            return
        ranks = {name: i for i, name in enumerate(tools.names)}
        place = tools.first_reordered or 0
        yield Candidate(
            path=f"tools[{place}]",
            rows=tools.reordered,
            confidence=0.95,
            evidence=Evidence(
                request=view.catalog.rows[tools.reordered[0]].id,
                compared_with=view.rows[0].id,
                note=f"{len(tools.names)} tools in another order",
            ),
            order=_order.TOOLS,
            slot_type=SlotType.ORDER.value,
            fixes=(OrderTools(ranks, (row.index for row in view.rows)),),
            anchor=Anchor(tools.reordered[0], f"tools[{place}]", 0),
        )
