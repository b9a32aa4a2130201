"""Which recorded values of a trace are to be covered, and of what kind each is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from keepwarm.diagnose.accounts import Accounts
from keepwarm.diagnose.typed_slots import TypedSlot
from keepwarm.diagnose.values import SlotType
from keepwarm.diagnose.view import SiteView
from keepwarm.repair.redaction.known import SHORTEST_VALUE
from keepwarm.repair.redaction.views import canonical

# What the values of these types consist of is as personal as the whole: a name, a number, an address.
_OF_PARTS = (SlotType.IDENTITY, SlotType.ID, SlotType.PASSAGE, SlotType.ORDER)
_SEPARATORS = re.compile(r"[,;|()\[\]{}<>\n\t]+|: |\s[–—-]\s")
_WORD = re.compile(r"[^\W_][\w'’.\-@+]*[^\W_]|[^\W_]")
_CAPITAL = r"[^\W\d_a-z][^\W\d_]{0,30}(?:[.'’\-][^\W\d_]{0,30})?"
_NAME = re.compile(rf"{_CAPITAL}(?: (?:(?:van|von|de|der|den|da|di|bin|al|la|le) ){{0,2}}{_CAPITAL}){{1,4}}")
_LONGEST_PART = 80  # of a passage, longer lines are text and known as wholes
_SHORTEST_WORD = 4


class Values(NamedTuple):
    """``slots`` are values as recorded; ``parts`` are what they consist of. Kind by value."""

    slots: dict[str, str]
    parts: dict[str, str]

    def all(self) -> dict[str, str]:
        """Both, as the redactor takes them: a whole goes before its part."""
        return self.parts | self.slots


def recorded_values(accounts: Accounts, shown: Iterable[tuple[str, str]] = ()) -> Values:
    """The values of every varying slot of every call site, and ``shown``: further values with their kinds.

    Parts of values are left out where the stable text around slots has the same words: those are
    the application's. Reads every leading text of the trace.
    """
    slots: dict[str, str] = {}
    stable: set[str] = set()
    whole: list[tuple[str, str]] = []
    for site in accounts.sites:
        for slot in SiteView(accounts.traffic, site, accounts.lineage, accounts.measured).slots:
            stable.update(_words(slot.before), _words(slot.after))
            whole += _of_slot(slot)
    for value, kind in (*whole, *shown):
        if len(canonical(value)) >= SHORTEST_VALUE:
            slots.setdefault(value, kind)
    parts: dict[str, str] = {}
    for value, kind in slots.items():
        for part in _parts(value, kind):
            if part not in slots and not set(_words(part)) <= stable:
                parts.setdefault(part, _kind_of(part, kind))
    return Values(slots, parts)


def _of_slot(slot: TypedSlot) -> Iterator[tuple[str, str]]:
    for value in dict.fromkeys(slot.values.values()):
        yield value, _kind_of(value, slot.type.value)


def _kind_of(value: str, slot_type: str) -> str:
    """``name`` for what looks like one, else the type of the slot."""
    is_name = slot_type == SlotType.IDENTITY.value and _NAME.fullmatch(value) is not None
    return "name" if is_name else slot_type


def _parts(value: str, kind: str) -> Iterator[str]:
    """What stands between separators, and the words of it that are names or numbers."""
    if kind not in ("name", *(slot_type.value for slot_type in _OF_PARTS)):
        return
    personal = kind in ("name", SlotType.IDENTITY.value)
    for piece in _SEPARATORS.split(value):
        part = piece.strip(" .:=\"'")
        if not personal:
            yield from (match[0].strip() for match in _NAME.finditer(part))
        if len(part) > _LONGEST_PART or len(canonical(part)) < SHORTEST_VALUE:
            continue
        if personal or any(map(str.isdigit, part)) or _NAME.fullmatch(part):
            yield part
        for word in _WORD.findall(part) if personal else ():
            if len(word) >= _SHORTEST_WORD and (not word[0].islower() or any(map(str.isdigit, word))):
                yield word


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]
