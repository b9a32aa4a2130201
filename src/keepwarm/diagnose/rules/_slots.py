"""What the rules about slots in a stable text have in common."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from keepwarm.diagnose.findings import Evidence
from keepwarm.diagnose.fixes import CutSlot, Destination, Place, ReplaceTools
from keepwarm.diagnose.rules import _order
from keepwarm.diagnose.rules.base import Anchor, Candidate
from keepwarm.diagnose.slot_types import classify
from keepwarm.diagnose.slots import WholeText, learn_skeleton, pick_variants
from keepwarm.diagnose.tool_lists import ToolText
from keepwarm.diagnose.typed_slots import TypedSlot
from keepwarm.diagnose.values import Kind, SlotType, seen_at
from keepwarm.diagnose.view import SiteView

_VALUES_SHOWN = 3


def slot_candidates(view: SiteView, slot_type: SlotType, *, constant: bool = False) -> Iterator[Candidate]:
    """One candidate per text that has slots of the type; ``constant`` if they need not vary at all."""
    places = list(dict.fromkeys(slot.place for slot in view.slots if slot.type is slot_type))
    for place in places:
        slots = [slot for slot in view.slots if slot.place == place and slot.type is slot_type]
        yield _slot_candidate(view, place, slots, constant=constant)
    yield from _tool_text_candidates(view, slot_type)


def _slot_candidate(view: SiteView, place: Place, slots: Sequence[TypedSlot], *, constant: bool) -> Candidate:
    rows = tuple(sorted({index for slot in slots for index in slot.varying}))
    fixes = tuple(
        CutSlot(
            place,
            slot.ranges,
            constant=slot.first_value if constant else None,
            to=Destination.FIRST_TURN if slot.type is SlotType.IDENTITY else Destination.TAIL,
            rows=slot.ranges,
        )
        for slot in slots
    )
    shown = slots[0]
    sample = next((index for index in rows if index in shown.values), next(iter(shown.values)))
    earlier = [i for i in shown.values if i < sample and shown.values[i] != shown.values[sample]]
    return Candidate(
        path=place.path(),
        rows=rows,
        confidence=min(slot.confidence for slot in slots),
        evidence=Evidence(
            request=view.catalog.rows[sample].id,
            compared_with=view.catalog.rows[earlier[-1]].id if earlier else None,
            before=shown.before,
            values=tuple(dict.fromkeys(shown.values.values()))[:_VALUES_SHOWN],
            after=shown.after,
            note="" if len(slots) == 1 else f"{len(slots)} slots of this kind in the same text",
        ),
        order=_order.in_text(place, shown.ranges[sample].start),
        slot_type=shown.type.value,
        fixes=fixes,
        anchor=Anchor(sample, place.path(), shown.ranges[sample].start),
    )


def _tool_text_candidates(view: SiteView, slot_type: SlotType) -> Iterator[Candidate]:
    for text in view.tools.texts:
        kind = _kind_of_leaf(view, text)
        if kind.slot_type is slot_type:
            yield _tool_text_candidate(view, text, kind)


def _kind_of_leaf(view: SiteView, text: ToolText) -> Kind:
    """The kind of the first slot in a leaf that is mostly stable text, else of the leaf as a whole."""
    variants = list(dict.fromkeys(text.values.values()))
    skeleton = learn_skeleton([variants[i] for i in pick_variants(len(variants))])
    if skeleton is None or not skeleton.holes:
        skeleton = WholeText(variants[0])
    ranges = {variant: skeleton.ranges(variant)[0] for variant in variants}
    return classify(
        [
            seen_at(value, *ranges[value], view.sessions[index], view.catalog.rows[index].time_s)
            for index, value in sorted(text.values.items())
        ]
    )


def _tool_text_candidate(view: SiteView, text: ToolText, kind: Kind) -> Candidate:
    rows = tuple(sorted(text.values))
    values = tuple(dict.fromkeys(text.values.values()))
    return Candidate(
        path=text.path,
        rows=rows,
        confidence=kind.confidence,
        evidence=Evidence(
            request=view.catalog.rows[rows[-1]].id,
            compared_with=view.catalog.rows[rows[0]].id,
            values=values[:_VALUES_SHOWN],
        ),
        order=_order.in_tools(text.place),
        slot_type=kind.slot_type.value,
        fixes=(ReplaceTools(text.constant, (row.index for row in view.rows)),),
        anchor=Anchor(rows[-1], text.path, 0),
    )
