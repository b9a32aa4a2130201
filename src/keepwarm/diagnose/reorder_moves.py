"""Moves of slots by the pieces of their template, made into fixes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct, structs

from keepwarm._errors import InputError
from keepwarm.diagnose.fixes import CutSlot, MoveSlot, Spot
from keepwarm.diagnose.rules.base import Candidate
from keepwarm.diagnose.template_pieces import PlacedPiece, placed_pieces, slot_ids
from keepwarm.diagnose.typed_slots import TypedSlot
from keepwarm.diagnose.view import SiteView


class Move(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Put a slot (by its id) before a piece of the template; the number of pieces: behind all of them."""

    slot: str
    before_piece: int


class Moved(NamedTuple):
    """A slot and the fix that puts it elsewhere."""

    slot: TypedSlot
    fix: MoveSlot


def moving(view: SiteView, moves: Sequence[Move]) -> list[Moved]:
    """What each of ``moves`` does, in the order in which they come.

    Raises:
        InputError: no such slot or piece, a slot is moved twice, or it cannot go there.
    """
    if not moves:
        return []
    slots, pieces = slot_ids(view), placed_pieces(view)
    seen: set[str] = set()
    for move in moves:
        if move.slot in seen:
            raise InputError(f"slot {move.slot!r} is moved twice; say once where it goes")
        seen.add(move.slot)
    return [_moved(view, slots, pieces, move) for move in moves]


def without_moved(candidate: Candidate, moved: Sequence[Moved]) -> Candidate:
    """``candidate`` less the cuts of slots that are moved: they go where they are moved to."""
    taken = {id(move.slot.ranges) for move in moved}
    fixes = tuple(
        fix for fix in candidate.fixes if not (isinstance(fix, CutSlot) and id(fix.ranges) in taken)
    )
    return candidate if len(fixes) == len(candidate.fixes) else structs.replace(candidate, fixes=fixes)


def _moved(
    view: SiteView, slots: Mapping[str, TypedSlot], pieces: Sequence[PlacedPiece], move: Move
) -> Moved:
    slot = slots.get(move.slot)
    if slot is None:
        raise InputError(
            f"no slot {move.slot!r} that can be moved at {view.site.id!r}; its template says which can"
        )
    if not 0 <= move.before_piece <= len(pieces):
        raise InputError(
            f"no piece {move.before_piece!r} in the template of {view.site.id!r}; it has 0 to {len(pieces)}"
        )
    to = None if move.before_piece == len(pieces) else _spot(view, slots, pieces, move.before_piece)
    return Moved(slot, MoveSlot(slot.place, slot.ranges, to))


def _spot(view: SiteView, slots: Mapping[str, TypedSlot], pieces: Sequence[PlacedPiece], number: int) -> Spot:
    """Where a piece begins: a slot at its own range, text behind the slot in front of it or on top."""
    piece = pieces[number]
    if piece.place is None:
        raise InputError(
            f"piece {number} ({piece.path!r}) is no text of a message, so nothing can stand in front of it; "
            "name a piece of a message"
        )
    if piece.slot is not None:
        return Spot(piece.place, {row: found.start for row, found in slots[piece.slot].ranges.items()})
    before = [other.slot for other in pieces[:number] if other.place == piece.place]
    if before and before[-1] is not None:
        return Spot(piece.place, {row: found.end for row, found in slots[before[-1]].ranges.items()})
    return Spot(piece.place, {row.index: 0 for row in view.rows})
