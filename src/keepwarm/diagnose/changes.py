"""What an edit of an earlier message amounts to: reordered arguments, white space, a moved block, ..."""

from __future__ import annotations

import enum
import json
from collections.abc import Iterator
from typing import Any

import msgspec

from keepwarm.diagnose.edits import Edit, EditKind
from keepwarm.diagnose.media import media_path, media_url, same_media
from keepwarm.diagnose.same_things import json_shape
from keepwarm.diagnose.slot_types import classify
from keepwarm.diagnose.values import Seen, SlotType, seen_at
from keepwarm.diagnose.words import Gap, diff, squeeze
from keepwarm.trace.catalog import Catalog, Row, message_text
from keepwarm.trace.records import JsonObject

_MOVED_CHARS = 24  # shorter texts stand in a later message by chance
_CONTEXT_CHARS = 60
_COUNT_DIGITS = 6  # longer numbers are ids
_SURE = 0.7
# Two values are too few to see a session keep one, or to see free text come anew each time.
_TOLD_BY_MANY = (SlotType.IDENTITY, SlotType.PASSAGE)


class ChangeKind(enum.StrEnum):
    """What became of an earlier message."""

    ARGS = "args"  # equal tool-call arguments, written differently
    CALL_ID = "call-id"
    MEDIA = "media"
    WHITESPACE = "whitespace"
    KEY_ORDER = "key-order"
    VALUE = "value"  # a typed slot inside the message
    MOVED = "moved"
    REWRITTEN = "rewritten"


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One explained difference; ``moved`` are texts that stand at a later place now."""

    kind: ChangeKind
    edit: Edit
    path: str
    old_value: str = ""
    new_value: str = ""
    before: str = ""
    after: str = ""
    slot_type: SlotType | None = None
    moved: tuple[str, ...] = ()
    confidence: float = 0.9


def explain(catalog: Catalog, edit: Edit) -> Iterator[Change]:
    """The changes that make up an edit, the likeliest reading of each."""
    path = f"messages[{edit.old_index}]"
    old = catalog.message(edit.old)
    if edit.kind is not EditKind.CHANGED:
        text = message_text(old)
        moved = edit.kind is EditKind.MOVED
        yield Change(
            kind=ChangeKind.MOVED if moved else ChangeKind.REWRITTEN,
            edit=edit,
            path=path,
            old_value=text[:_CONTEXT_CHARS],
            moved=(text,) if moved else (),
        )
        return
    assert edit.new is not None
    new = catalog.message(edit.new)
    yield from _calls(edit, path, old, new)
    yield from _content(catalog, edit, path, old, new)
    for field in ("reasoning_content", "reasoning"):
        if old.get(field) != new.get(field) and (old.get(field) or new.get(field)):
            yield Change(kind=ChangeKind.REWRITTEN, edit=edit, path=f"{path}.{field}")


def _calls(edit: Edit, path: str, old: JsonObject, new: JsonObject) -> Iterator[Change]:
    old_calls, new_calls = old.get("tool_calls") or [], new.get("tool_calls") or []
    if len(old_calls) != len(new_calls):
        yield Change(kind=ChangeKind.REWRITTEN, edit=edit, path=f"{path}.tool_calls")
        return
    for j, (before, after) in enumerate(zip(old_calls, new_calls, strict=True)):
        call = f"{path}.tool_calls[{j}]"
        a, b = _arguments(before), _arguments(after)
        if a != b:
            equal = _same_json(a, b)
            yield Change(
                kind=ChangeKind.ARGS if equal else ChangeKind.REWRITTEN,
                edit=edit,
                path=f"{call}.function.arguments",
                old_value=a,
                new_value=b,
                slot_type=SlotType.KEY_ORDER if equal else None,
            )
        elif before.get("id") != after.get("id"):
            yield Change(
                kind=ChangeKind.CALL_ID,
                edit=edit,
                path=f"{call}.id",
                old_value=str(before.get("id")),
                new_value=str(after.get("id")),
                slot_type=SlotType.ID,
            )


def _content(catalog: Catalog, edit: Edit, path: str, old: JsonObject, new: JsonObject) -> Iterator[Change]:
    a, b = old.get("content"), new.get("content")
    if a == b:
        return
    row = catalog.rows[edit.row]
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for j, (before, after) in enumerate(zip(a, b, strict=True)):
            if before != after:
                yield from _part(catalog, row, edit, f"{path}.content[{j}]", before, after)
        return
    a_text, b_text = message_text(old), message_text(new)
    if a_text != b_text:
        yield _text(catalog, row, edit, f"{path}.content", a_text, b_text)


def _part(catalog: Catalog, row: Row, edit: Edit, path: str, old: Any, new: Any) -> Iterator[Change]:
    a_url, b_url = media_url(old), media_url(new)
    if a_url is not None and b_url is not None:
        confidence = same_media(a_url, b_url)
        if a_url != b_url:
            yield Change(
                kind=ChangeKind.MEDIA if confidence else ChangeKind.REWRITTEN,
                edit=edit,
                path=f"{path}.{media_path(old)}",
                old_value=a_url[:_CONTEXT_CHARS],
                new_value=b_url[:_CONTEXT_CHARS],
                confidence=confidence or 0.7,
            )
        return
    a_text = old.get("text") if isinstance(old, dict) else None
    b_text = new.get("text") if isinstance(new, dict) else None
    if isinstance(a_text, str) and isinstance(b_text, str):
        yield _text(catalog, row, edit, f"{path}.text", a_text, b_text)
    else:
        yield Change(kind=ChangeKind.REWRITTEN, edit=edit, path=path)


def _text(catalog: Catalog, row: Row, edit: Edit, path: str, old: str, new: str) -> Change:
    """The change of a text: the kind that explains all of it, else the likeliest of its gaps."""
    gaps = _cuts(old, new) or diff(old, new)
    widest = max(gaps, key=lambda gap: max(gap.a_end - gap.a_start, gap.b_end - gap.b_start))
    old_value, new_value = old[widest.a_start : widest.a_end], new[widest.b_start : widest.b_end]
    kind, slot_type, confidence = ChangeKind.REWRITTEN, None, 0.8
    moved: tuple[str, ...] = ()
    if squeeze(old) == squeeze(new):
        kind, slot_type, confidence = ChangeKind.WHITESPACE, SlotType.WHITESPACE, 0.95
    elif _equal_json_text(old, new):
        kind, slot_type, confidence = ChangeKind.KEY_ORDER, SlotType.KEY_ORDER, 0.95
    elif moved := _moved_texts(catalog, row, edit, old, new, gaps):
        kind, confidence = ChangeKind.MOVED, 0.9
    elif (found := _typed(catalog.rows[edit.parent], row, old, new, gaps)) is not None:
        kind, slot_type, confidence = ChangeKind.VALUE, found, 0.85
        if found is SlotType.WHITESPACE:
            kind = ChangeKind.WHITESPACE
        elif found is SlotType.KEY_ORDER:
            kind = ChangeKind.KEY_ORDER
    return Change(
        kind=kind,
        edit=edit,
        path=path,
        old_value=old_value,
        new_value=new_value,
        before=old[max(0, widest.a_start - _CONTEXT_CHARS) : widest.a_start],
        after=old[widest.a_end : widest.a_end + _CONTEXT_CHARS],
        slot_type=slot_type,
        moved=moved,
        confidence=confidence,
    )


def _cuts(old: str, new: str) -> list[Gap]:
    """The gaps where the new text is a piece of the old one: what was cut in front and behind.

    A short question between two long documents is no match for an alignment by words.
    """
    kept = new.strip()
    at, new_at = old.find(kept), new.find(kept)
    if not kept or at < 0:
        return []
    end, new_end = at + len(kept), new_at + len(kept)
    gaps = (Gap(0, at, 0, new_at), Gap(end, len(old), new_end, len(new)))
    return [gap for gap in gaps if gap.a_start < gap.a_end or gap.b_start < gap.b_end]


def _moved_texts(
    catalog: Catalog, row: Row, edit: Edit, old: str, new: str, gaps: list[Gap]
) -> tuple[str, ...]:
    """Texts taken out of the old message, with nothing in their place, that a later message carries."""
    start = (edit.new_index or 0) + 1
    later = [message_text(catalog.message(content)) for content in row.messages[start:]]
    found = []
    for gap in gaps:
        taken = old[gap.a_start : gap.a_end].strip()
        replaced = new[gap.b_start : gap.b_end].strip()
        if not replaced and len(taken) >= _MOVED_CHARS and any(taken in text for text in later):
            found.append(taken)
    return tuple(found)


def _typed(parent: Row, row: Row, old: str, new: str, gaps: list[Gap]) -> SlotType | None:
    """One type that all gaps of a changed message share: a clock, a counter, an id, ..."""
    types = {
        _type_of_pair(
            seen_at(old, gap.a_start, gap.a_end, "", parent.time_s),
            seen_at(new, gap.b_start, gap.b_end, "", row.time_s),
        )
        for gap in gaps
    }
    return types.pop() if len(types) == 1 else None


def _type_of_pair(before: Seen, after: Seen) -> SlotType | None:
    """The type of a value that was replaced, as far as two values can tell."""
    found, confidence = classify([before, after])
    if found is SlotType.WHITESPACE:
        return found
    both = before.value.strip() and after.value.strip()
    if both and confidence >= _SURE and found not in _TOLD_BY_MANY:
        return found
    return SlotType.COUNTER if _is_count(before.value) and _is_count(after.value) else None


def _is_count(value: str) -> bool:
    return value.isdecimal() and len(value) <= _COUNT_DIGITS


def _arguments(call: Any) -> str:
    function = call.get("function") if isinstance(call, dict) else None
    arguments = function.get("arguments") if isinstance(function, dict) else None
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def _same_json(a: str, b: str) -> bool:
    try:
        return bool(json.loads(a) == json.loads(b))
    except (ValueError, RecursionError):
        return squeeze(a) == squeeze(b)


def _equal_json_text(a: str, b: str) -> bool:
    return (shape := json_shape(a)) is not None and shape == json_shape(b)
