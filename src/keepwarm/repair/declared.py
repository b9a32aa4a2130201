"""Changes of prompts that are meant: those the fix of a cause implies, and those its user declares."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, get_args

import msgspec

from keepwarm._errors import InputError
from keepwarm._json import decoded
from keepwarm.diagnose.findings import Finding
from keepwarm.diagnose.fixes import (
    AddTools,
    CutSlot,
    DropParam,
    Fix,
    FreezeClock,
    KeepHistory,
    OrderMessages,
    OrderTools,
    ReplaceContent,
    ReplaceParts,
    ReplaceTools,
    SetModel,
)
from keepwarm.diagnose.rules.base import Candidate
from keepwarm.repair.task import DeclaredRepair

Kind = Literal["added", "removed", "changed", "moved"]
_KINDS: dict[str, Kind] = {kind: kind for kind in get_args(Kind)}
_DECLARATION = re.compile(r"(?P<kind>[a-z]+):(?P<text>.+?)=(?P<reason>[^=]+)", re.DOTALL)
_MOST_FILE_BYTES = 1 << 20
# What each fix does to prompts, apart from taking away what breaks the prefix.
_MEANT: dict[type[Fix], tuple[Kind, str]] = {
    CutSlot: ("moved", "what varies goes behind the text that all requests share"),
    OrderTools: ("moved", "the tools come in one fixed order"),
    OrderMessages: ("moved", "the same messages come in one fixed order"),
    AddTools: ("added", "tools are offered from the start instead of being toggled"),
    ReplaceTools: ("changed", "each tool is written the same way every time"),
    ReplaceContent: ("changed", "a message is sent again as it was sent first"),
    ReplaceParts: ("changed", "a picture is sent again as it was sent first"),
    KeepHistory: ("changed", "history only grows: what was sent stays as it was sent"),
    SetModel: ("changed", "a session stays with one model"),
    DropParam: ("removed", "the parameter keeps the engine from sharing"),
    FreezeClock: ("removed", "the chat template states no time"),
}


class _Declared(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    kind: Kind
    text: str
    reason: str


def implied(finding: Finding, candidate: Candidate) -> Iterator[DeclaredRepair]:
    """What the fix of a finding changes about prompts. Plain: redact it before it is shown."""
    seen: set[tuple[Kind, str]] = set()
    where = finding.path or "the chat template"
    for fix in candidate.fixes:
        kind, reason = _MEANT[type(fix)]
        if (kind, reason) not in seen:
            seen.add((kind, reason))
            yield DeclaredRepair(kind=kind, text=where, reason=f"{finding.id} ({finding.cause}): {reason}")
    if candidate.grow is not None:
        reason = "history is rendered as it was first sent"
        yield DeclaredRepair(kind="changed", text=where, reason=f"{finding.id} ({finding.cause}): {reason}")


def parse_declarations(declarations: Iterable[str]) -> tuple[DeclaredRepair, ...]:
    """``KIND:TEXT=REASON``, or the path of a JSON file with a list of ``{"kind", "text", "reason"}``.

    Raises:
        InputError: one is neither; says what one looks like. The text itself is not repeated.
    """
    return tuple(repair for declaration in declarations for repair in _parsed(declaration))


def _parsed(declaration: str) -> Iterator[DeclaredRepair]:
    match = _DECLARATION.fullmatch(declaration)
    kind = None if match is None else _KINDS.get(match["kind"])
    if match is not None and kind is not None:
        yield _repair(kind, match["text"], match["reason"])
        return
    path = Path(declaration)
    if not declaration.endswith(".json"):
        raise InputError(
            "--declare: a declaration is KIND:TEXT=REASON with KIND one of added, removed, changed, moved, "
            "or a .json file; say why the change is meant"
        )
    try:
        if path.stat().st_size > _MOST_FILE_BYTES:
            raise InputError(f"--declare {declaration!r} is larger than 1 MiB; name a list of declarations")
        found = decoded(path.read_bytes(), list[_Declared])
    except OSError as error:
        raise InputError(
            f"--declare {declaration!r}: {error.strerror or error}; name a readable file"
        ) from error
    except msgspec.DecodeError as error:
        raise InputError(
            f'--declare {declaration!r} is not a JSON list of {{"kind", "text", "reason"}}; correct it'
        ) from error
    for item in found:
        yield _repair(item.kind, item.text, item.reason)


def _repair(kind: Kind, text: str, reason: str) -> DeclaredRepair:
    if not text.strip() or not reason.strip():
        raise InputError("--declare: text and reason must not be empty; say what changes and why it is meant")
    return DeclaredRepair(kind=kind, text=text.strip(), reason=reason.strip())
