"""The rule for tools that come and go."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from keepwarm.diagnose.findings import Evidence, Owner
from keepwarm.diagnose.fixes import AddTools, OrderTools
from keepwarm.diagnose.rules import _order
from keepwarm.diagnose.rules.base import Anchor, Candidate, Rule

if TYPE_CHECKING:
    from keepwarm.diagnose.view import SiteView


class ToolSet(Rule):
    """Tools are added, removed or toggled within a session.

    A tool server that finishes connecting after the first turn, or tools that are offered only
    when a message seems to need them, change the list near the top of the prompt. The whole
    conversation behind it is computed again, at every change.

    **Recognised by** tool lists whose names differ between a request and the one it continues.

    **Fix.** Offer the same tools for the whole session. Restrict the choice with `tool_choice` or
    by an instruction at the end; wait for slow tool servers before the first turn, or append
    their tools at the end of the list.

    **Not to be confused with** `tool-order`, where only the order differs. Sessions that differ
    from each other but keep their tools lose nothing here.
    """

    code = "tool-set"
    owner = Owner.APP
    summary = "tools added, removed or toggled within a session"
    suggestion = (
        "Offer the same tools for the whole session and restrict the choice with tool_choice or an "
        "instruction at the end, instead of taking tools off the list."
    )

    def candidates(self, view: SiteView) -> Iterable[Candidate]:
        """Sets of tools that change from one request to the next."""
        tools = view.tools
        if not tools.toggled:
            return
        place = tools.first_toggled or 0
        everyone = [row.index for row in view.rows]
        ranks = {name: i for i, name in enumerate(tools.names)}
        first = view.catalog.rows[tools.toggled[0]]
        parent = view.parents[first.index]
        yield Candidate(
            path=f"tools[{place}]",
            rows=tools.toggled,
            confidence=0.9,
            evidence=Evidence(
                request=first.id,
                compared_with=None if parent is None else view.catalog.rows[parent].id,
                note=f"{len(tools.names)} tools in all, not all of them every time",
            ),
            order=_order.TOOLS,
            fixes=(AddTools(tools.missing, everyone), OrderTools(ranks, everyone)),
            anchor=Anchor(first.index, f"tools[{min(place, max(0, len(first.tools) - 1))}]", 0),
        )
