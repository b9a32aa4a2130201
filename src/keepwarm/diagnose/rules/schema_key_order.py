"""The rule for equal JSON in another serialisation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from keepwarm.diagnose.changes import ChangeKind
from keepwarm.diagnose.findings import Evidence, Owner
from keepwarm.diagnose.fixes import ReplaceTools
from keepwarm.diagnose.rules import _order
from keepwarm.diagnose.rules._changes import change_candidates
from keepwarm.diagnose.rules._slots import slot_candidates
from keepwarm.diagnose.rules.base import Anchor, Candidate, Rule
from keepwarm.diagnose.values import SlotType

if TYPE_CHECKING:
    from keepwarm.diagnose.view import SiteView


class SchemaKeyOrder(Rule):
    """Equal JSON is serialised differently, in tool definitions or in a message.

    A map with random iteration order, or two libraries with their own spacing, write the same
    object in other bytes. Tools stand near the top of most chat templates, so this costs nearly
    the whole prompt.

    **Recognised by** values that are equal as JSON and different as text.

    **Fix.** Serialise once and keep the bytes, or sort keys where the application itself builds
    the object.

    **Not to be confused with** `tool-order`, where the tools themselves come in another order, and
    `args-key-order`, for arguments that the model wrote: those must keep the model's order.
    """

    code = "schema-key-order"
    owner = Owner.APP
    summary = "equal JSON, serialised differently, in tools or structured content"
    suggestion = (
        "Serialise the object once and reuse the bytes, or write its keys in a fixed order; do not "
        "build it from a map whose order is random."
    )

    def candidates(self, view: SiteView) -> Iterable[Candidate]:
        """Tools re-serialised, JSON in stable texts, JSON in replayed messages."""
        tools = view.tools
        if tools.reserialised:
            place = tools.first_reserialised or 0
            yield Candidate(
                path=f"tools[{place}]",
                rows=tools.reserialised,
                confidence=0.95,
                evidence=Evidence(
                    request=view.catalog.rows[tools.reserialised[0]].id,
                    compared_with=view.rows[0].id,
                    note="the same definition, its keys in another order",
                ),
                order=_order.TOOLS,
                slot_type=SlotType.KEY_ORDER.value,
                fixes=(ReplaceTools(tools.first_serialisation, (row.index for row in view.rows)),),
                anchor=Anchor(tools.reserialised[0], f"tools[{place}]", 0),
            )
        yield from slot_candidates(view, SlotType.KEY_ORDER, constant=True)
        changes = [c for c in view.changes if c.kind is ChangeKind.KEY_ORDER]
        yield from change_candidates(view, changes, SlotType.KEY_ORDER)
