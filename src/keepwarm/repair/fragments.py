"""The stable text of a call site in pieces that a repair may move but must not lose."""

from __future__ import annotations

from collections.abc import Iterator

from keepwarm.diagnose.fixes import Place, text_at
from keepwarm.diagnose.slots import Range
from keepwarm.diagnose.typed_slots import LEADING_MESSAGES
from keepwarm.diagnose.view import SiteView
from keepwarm.trace.catalog import HEAD_ROLES


def static_fragments(view: SiteView) -> tuple[str, ...]:
    """Lines of the stable text around the slots of a call site, in prompt order, each once.

    Read from the first request that has the text; lines are cut where a slot stands, stripped, and
    left out where they hold no letter or digit. Messages of a conversation have none.
    """
    return tuple(dict.fromkeys(piece for place in _places(view) for piece in _pieces(view, place)))


def _places(view: SiteView) -> list[Place]:
    """Texts with slots, and head messages that all requests share."""
    if any(row.prompt_text is not None for row in view.rows):
        return [Place(-1)]
    places = {slot.place for slot in view.slots}
    slotted = {place.message for place in places}
    for i in range(LEADING_MESSAGES):
        contents = {row.messages[i] for row in view.rows if i < len(row.messages)}
        if i not in slotted and len(contents) == 1:
            message = view.catalog.message(next(iter(contents)))
            if message.get("role") in HEAD_ROLES:
                parts = message.get("content")
                places |= {Place(i, j) for j in range(len(parts))} if isinstance(parts, list) else {Place(i)}
    return sorted(places, key=lambda place: (place.message, -1 if place.part is None else place.part))


def _pieces(view: SiteView, place: Place) -> Iterator[str]:
    slots = [slot for slot in view.slots if slot.place == place]
    row = next((row for row in view.rows if all(row.index in slot.ranges for slot in slots)), None)
    if row is None:
        return
    if place.message < 0:
        text = None if row.prompt_text is None else str(view.catalog.store.get(row.prompt_text))
    elif place.message < len(row.messages):
        text = text_at(view.catalog.message(row.messages[place.message]), place.part)
    else:
        text = None
    if text is None:
        return
    read = 0
    holes = sorted(slot.ranges[row.index] for slot in slots)
    for hole in [*holes, Range(len(text), len(text))]:
        for line in text[read : hole.start].split("\n"):
            if any(map(str.isalnum, line)):
                yield line.strip()
        read = max(read, hole.end)
