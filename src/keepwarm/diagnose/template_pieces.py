"""What an application says in every prompt of a call site, in pieces: stable text, and the slots in it.

The pieces of a call site are the same wherever they are asked for: what ``templates.json`` shows is what a
move of a slot counts by.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from keepwarm.diagnose.fixes import Place, text_at
from keepwarm.diagnose.typed_slots import LEADING_MESSAGES, TypedSlot
from keepwarm.diagnose.view import SiteView
from keepwarm.trace.catalog import Row
from keepwarm.trace.prompt import Span

TOOLS_PATH = "tools"
TOOLS_ROLE = "tools"
PROMPT_ROLE = "prompt"
_STABLE_SHARE = 0.5  # of the requests: a system text where no slot was found
_FEWEST = 2  # requests that all say a text of any other role
_HEADS = ("system", "developer")


class PlacedPiece(NamedTuple):
    """Characters ``start:end`` of a text of request ``row``: stable text, or the slot with that id.

    ``place`` is None for tools, whose pieces have no characters.
    """

    path: str
    role: str
    place: Place | None
    row: int
    start: int
    end: int
    slot: str | None


def slot_ids(view: SiteView) -> dict[str, TypedSlot]:
    """The slots that can be moved, by id, in the order of ``view.slots``: numbered from 1 in each text."""
    numbers: Counter[Place] = Counter()
    ids = {}
    for slot in view.slots:
        numbers[slot.place] += 1
        ids[f"{slot.place.path()}#{numbers[slot.place]}"] = slot
    return ids


def tool_slot_ids(view: SiteView) -> dict[str, str]:
    """What varies about the tools, by id: the JSON path. None of it can be moved."""
    changes = view.tools
    ids = {}
    if changes.reordered:
        ids[f"{TOOLS_PATH}#order"] = f"{TOOLS_PATH}[{changes.first_reordered}]"
    if changes.toggled:
        ids[f"{TOOLS_PATH}#set"] = f"{TOOLS_PATH}[{changes.first_toggled}]"
    if changes.reserialised:
        ids[f"{TOOLS_PATH}#keys"] = f"{TOOLS_PATH}[{changes.first_reserialised}]"
    return ids | {f"{text.path}#1": text.path for text in changes.texts}


def placed_pieces(view: SiteView) -> tuple[PlacedPiece, ...]:
    """The pieces in the order in which the first request's prompt shows them; none without texts."""
    ids: dict[Place, dict[str, TypedSlot]] = defaultdict(dict)
    for name, slot in slot_ids(view).items():
        ids[slot.place][name] = slot
    groups = [_tool_pieces(view)]
    for place in _places(view):
        text = _stable_text(view, place, ids[place])
        if text is not None:
            groups.append(list(_text_pieces(view, place, text, ids[place])))
    order = _prompt_order(view)
    groups = sorted((group for group in groups if group), key=lambda group: order(group[0]))
    return tuple(piece for group in groups for piece in group)


def text_of_row(view: SiteView, row: Row, place: Place) -> str | None:
    """The text of a request at ``place``, None where it has none."""
    if place.message < 0:
        return None if row.prompt_text is None else str(view.catalog.store.get(row.prompt_text))
    if place.message >= len(row.messages):
        return None
    return text_at(view.catalog.message(row.messages[place.message]), place.part)


class _Text(NamedTuple):
    row: int
    text: str


def _places(view: SiteView) -> list[Place]:
    """Where an application's own texts stand: those with slots, and those of the first request."""
    places = {slot.place for slot in view.slots}
    first = view.rows[0]
    if first.prompt_text is not None:
        places.add(Place(-1))
    for i, content in enumerate(first.messages[:LEADING_MESSAGES]):
        said = view.catalog.message(content).get("content")
        parts: Sequence[int | None] = range(len(said)) if isinstance(said, list) else [None]
        places.update(Place(i, part) for part in parts)
    return sorted(places, key=lambda place: (place.message, -1 if place.part is None else place.part))


def _stable_text(view: SiteView, place: Place, slots: Mapping[str, TypedSlot]) -> _Text | None:
    """The first request's text at ``place``, None where requests have no text in common there."""
    if slots:
        row = min(min(slot.ranges, default=0) for slot in slots.values())
        text = text_of_row(view, view.catalog.rows[row], place)
        return None if text is None else _Text(row, text)
    first = view.rows[0]
    text = text_of_row(view, first, place)
    if not text:
        return None
    alike = sum(_content(row, place) == _content(first, place) for row in view.rows)
    if _role(view, first, place) in _HEADS:
        is_stable = alike >= _STABLE_SHARE * len(view.rows)
    else:  # what some sessions say and others do not is a conversation
        is_stable = alike == len(view.rows) >= _FEWEST
    if not is_stable:
        return None
    return _Text(first.index, text)


def _content(row: Row, place: Place) -> object:
    if place.message < 0:
        return row.prompt_text
    return row.messages[place.message] if place.message < len(row.messages) else None


def _role(view: SiteView, row: Row, place: Place) -> str:
    if place.message < 0:
        return PROMPT_ROLE
    return str(view.catalog.message(row.messages[place.message]).get("role", ""))


def _text_pieces(
    view: SiteView, place: Place, text: _Text, slots: Mapping[str, TypedSlot]
) -> Iterator[PlacedPiece]:
    role = _role(view, view.catalog.rows[text.row], place)
    read = 0
    for name, slot in slots.items():
        start, end = slot.ranges[text.row]
        if read < start:
            yield PlacedPiece(place.path(), role, place, text.row, read, start, None)
        yield PlacedPiece(place.path(), role, place, text.row, start, end, name)
        read = end
    if read < len(text.text):
        yield PlacedPiece(place.path(), role, place, text.row, read, len(text.text), None)


def _tool_pieces(view: SiteView) -> list[PlacedPiece]:
    row = next((row.index for row in view.rows if row.tools), None)
    if row is None:
        return []
    slots = tool_slot_ids(view)
    named = [(None, TOOLS_PATH), *slots.items()]
    return [PlacedPiece(path, TOOLS_ROLE, None, row, 0, 0, slot) for slot, path in named]


class _Order:
    """Where the texts of a prompt stand, by the spans of the first request."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self._starts: dict[str, int] = {}
        for span in spans:
            if span.path is not None:
                self._starts.setdefault(span.path.partition("[")[0] + _index(span.path), span.start)

    def __call__(self, piece: PlacedPiece) -> tuple[float, int, int]:
        if piece.place is None:
            start = min((at for name, at in self._starts.items() if name.startswith(TOOLS_PATH)), default=-1)
            return (start, -1, -1)
        message, part = piece.place
        name = PROMPT_ROLE if message < 0 else f"messages[{message}]"
        return (self._starts.get(name, float("inf")), message, -1 if part is None else part)


def _index(path: str) -> str:
    name, bracket, rest = path.partition("[")
    return f"[{rest.partition(']')[0]}]" if name == "messages" and bracket else ""


def _prompt_order(view: SiteView) -> _Order:
    return _Order(view.traffic.prompt(view.rows[0].index).rendered.spans)
