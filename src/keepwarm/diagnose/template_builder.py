"""Templates of call sites as recorded, whole: what ``report/template_file.py`` masks and cuts."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping, Sequence

from keepwarm.diagnose.breaks import token_at
from keepwarm.diagnose.callsites import tool_name
from keepwarm.diagnose.findings import Finding, Owner
from keepwarm.diagnose.rules.eviction import Eviction
from keepwarm.diagnose.rules.expired import Expired
from keepwarm.diagnose.rules.routing import Routing
from keepwarm.diagnose.rules.schema_key_order import SchemaKeyOrder
from keepwarm.diagnose.rules.tool_order import ToolOrder
from keepwarm.diagnose.rules.tool_set import ToolSet
from keepwarm.diagnose.template_pieces import (
    TOOLS_PATH,
    PlacedPiece,
    placed_pieces,
    slot_ids,
    text_of_row,
    tool_slot_ids,
)
from keepwarm.diagnose.templates import AlignedRequest, Proposal, Slot, SlotPiece, Template, TextPiece
from keepwarm.diagnose.typed_slots import TypedSlot
from keepwarm.diagnose.values import SlotType
from keepwarm.diagnose.view import SiteView
from keepwarm.trace.catalog import Row
from keepwarm.trace.contents import ContentId

SAMPLED = 200
"""Requests of a call site that are laid beside each other, spread evenly."""

_NOT_SIMULATED = frozenset({Routing.code, Expired.code, Eviction.code})  # their gain is measured
_TOOL_CAUSES = {ToolOrder.code: "order", ToolSet.code: "set", SchemaKeyOrder.code: "keys"}
_NO_TEXTS = "This trace records hashes of blocks, not texts: there is no template to show."
_NOTHING_STABLE = "The requests of this call site have no text in common."


def site_template(view: SiteView, findings: Sequence[Finding]) -> Template:
    """The template of one call site with ``findings`` of it, most recoverable first.

    Texts and values are as recorded and whole. Does not mutate.
    """
    hashed = all(row.hashed is not None for row in view.rows)
    pieces = () if hashed else placed_pieces(view)
    read = {} if hashed else _readers(view)
    order = {piece.slot: number for number, piece in enumerate(pieces)}
    slots = [] if hashed else [*_text_slots(view, findings), *_tool_slots(view, findings, read)]
    return Template(
        call_site=view.site.id,
        pieces=tuple(_shown(view, piece) for piece in pieces),
        slots=tuple(sorted(slots, key=lambda slot: order[slot.id])),
        requests=() if hashed else _aligned(view, read),
        requests_in_all=len(view.rows),
        proposals=_proposals(findings),
        note=_NO_TEXTS if hashed else "" if pieces else _NOTHING_STABLE,
    )


def sampled(rows: Sequence[Row]) -> list[Row]:
    """All of ``rows``, or some spread evenly, the first and the last among them."""
    if len(rows) <= SAMPLED:
        return list(rows)
    return [rows[i * (len(rows) - 1) // (SAMPLED - 1)] for i in range(SAMPLED)]


Read = Callable[[Row], str | None]
"""A slot's value in a request, None where it has none."""


def _readers(view: SiteView) -> dict[str, Read]:
    """How to read each slot's value, by the slot's id."""
    # A text with many slots is read once for all of them.
    text = functools.lru_cache(maxsize=8)(
        lambda index, place: text_of_row(view, view.catalog.rows[index], place)
    )

    def cut(slot: TypedSlot) -> Read:
        def value(row: Row) -> str | None:
            found = slot.ranges.get(row.index)
            whole = None if found is None else text(row.index, slot.place)
            return None if found is None or whole is None else whole[found.start : found.end]

        return value

    readers: dict[str, Read] = {name: cut(slot) for name, slot in slot_ids(view).items()}
    texts = {text.path: text.values for text in view.tools.texts}
    for name, path in tool_slot_ids(view).items():
        if name == f"{TOOLS_PATH}#keys":
            readers[name] = _tool_json(view, view.tools.first_reserialised or 0)
        elif name.startswith(f"{TOOLS_PATH}#"):
            readers[name] = _tool_names(view)
        else:
            readers[name] = functools.partial(_of_row, texts[path])
    return readers


def _of_row(values: Mapping[int, str], row: Row) -> str | None:
    return values.get(row.index)


def _tool_names(view: SiteView) -> Read:
    """The names of a request's tools, in their order. Most requests have the list of another one."""

    @functools.lru_cache(maxsize=1_024)
    def named(tools: tuple[ContentId, ...]) -> str:
        return ", ".join(tool_name(view.catalog.store.get(tool)) for tool in tools)

    return lambda row: named(row.tools)


def _tool_json(view: SiteView, place: int) -> Read:
    """The tool at ``place`` as it is written."""

    @functools.lru_cache(maxsize=1_024)
    def written(tool: ContentId) -> str:
        return json.dumps(view.catalog.store.get(tool), ensure_ascii=False)

    return lambda row: written(row.tools[place]) if place < len(row.tools) else None


def _shown(view: SiteView, piece: PlacedPiece) -> TextPiece | SlotPiece:
    if piece.slot is not None:
        return SlotPiece(slot=piece.slot, path=piece.path, role=piece.role)
    row = view.catalog.rows[piece.row]
    if piece.place is None:
        return TextPiece(text=_tool_names(view)(row) or "", path=piece.path, role=piece.role)
    text = text_of_row(view, row, piece.place) or ""
    return TextPiece(text=text[piece.start : piece.end], path=piece.path, role=piece.role)


def _aligned(view: SiteView, read: Mapping[str, Read]) -> tuple[AlignedRequest, ...]:
    numbers: dict[str, dict[str, int]] = {name: {} for name in read}
    found = []
    for row in sampled(view.rows):
        values = {name: value for name, reader in read.items() if (value := reader(row)) is not None}
        variants = {
            name: numbers[name].setdefault(value, len(numbers[name])) for name, value in values.items()
        }
        session = view.sessions[row.index]
        found.append(
            AlignedRequest(index=row.index, id=row.id, session=session, values=values, variants=variants)
        )
    return tuple(found)


def _text_slots(view: SiteView, findings: Sequence[Finding]) -> list[Slot]:
    slots = []
    for name, slot in slot_ids(view).items():
        path, row = slot.place.path(), min(slot.ranges)
        start = slot.ranges[row].start
        own = (f for f in findings if (f.path, f.slot_type) == (path, slot.type.value))
        finding = next(own, None)
        exact = view.catalog.rows[row].prompt_token_ids is None
        slots.append(
            Slot(
                id=name,
                path=path,
                type=slot.type.value,
                owner=(finding.owner if finding else Owner.APP).value,  # slots are in the application's texts
                confidence=round(slot.confidence, 2),
                start_char=start,
                token_offset=token_at(view.traffic.prompt(row), path, start) if exact else None,
                requests=len(slot.ranges),
                distinct=slot.distinct,
                finding=finding.id if finding else None,
            )
        )
    return slots


def _tool_slots(view: SiteView, findings: Sequence[Finding], read: Mapping[str, Read]) -> list[Slot]:
    slots = []
    for name, path in tool_slot_ids(view).items():
        finding = next((f for f in findings if _is_of(f, name, path)), None)
        values = [value for row in view.rows if (value := read[name](row)) is not None]
        slots.append(
            Slot(
                id=name,
                path=path,
                type=(finding.slot_type if finding else None) or _tool_slot_type(name),
                owner=(finding.owner if finding else Owner.APP).value,
                confidence=finding.confidence if finding else 0.95,  # the trace itself states it
                start_char=0,
                token_offset=finding.token_offset if finding else None,
                requests=len(values),
                distinct=len(set(values)),
                finding=finding.id if finding else None,
                movable=False,
            )
        )
    return slots


def _is_of(finding: Finding, slot: str, path: str) -> bool:
    kind = _TOOL_CAUSES.get(finding.cause)
    return slot == f"{TOOLS_PATH}#{kind}" if kind else finding.path == path and slot == f"{path}#1"


def _tool_slot_type(slot: str) -> str:
    if slot == f"{TOOLS_PATH}#keys":
        return SlotType.KEY_ORDER.value
    return (SlotType.ORDER if slot.startswith(f"{TOOLS_PATH}#") else SlotType.PASSAGE).value


def _proposals(findings: Sequence[Finding]) -> tuple[Proposal, ...]:
    simulated = [
        finding
        for finding in findings
        if finding.cause not in _NOT_SIMULATED and finding.recoverable_tokens > 0
    ]
    single = [
        Proposal(
            findings=(finding.id,),
            suggestion=finding.suggestion,
            recoverable_tokens=finding.recoverable_tokens,
        )
        for finding in simulated
    ]
    if len(single) < 2:
        return tuple(single)
    # The gains of a call site's findings are shares of what all of them give back, so they add up.
    together = Proposal(
        findings=tuple(finding.id for finding in simulated),
        suggestion=f"All {len(single)} fixes together.",
        recoverable_tokens=sum(finding.recoverable_tokens for finding in simulated),
    )
    return (*single, together)
