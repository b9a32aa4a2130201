"""The task that an agent, or a colleague, carries out: the document ``keepwarm.task/1``.

Everything in it is redacted. The guard reads it to know what was allowed; the field names are a contract:
additions are allowed, changes are not.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from keepwarm.diagnose.findings import Owner

SCHEMA = "keepwarm.task/1"


class TaskFinding(msgspec.Struct, frozen=True, kw_only=True):
    """What was found, in short; ``path`` is the JSON path of the slot in the request.

    ``call_site`` is its id in the diagnosis of the trace, ``call_site_name`` what it is shown as.
    """

    id: str
    cause: str
    owner: Owner
    call_site: str
    path: str | None
    slot_type: str | None
    requests: int
    recoverable_tokens: int
    suggestion: str
    call_site_name: str = ""


class ShownBreak(msgspec.Struct, frozen=True, kw_only=True):
    """Stable text, what varies as typed placeholders, stable text."""

    before: str
    values: tuple[str, ...]
    after: str


class Location(msgspec.Struct, frozen=True, kw_only=True):
    """A place in the repository where the text around the slot is built; lines count from 1."""

    file: str  # relative to the repository, with slashes
    first_line: int
    last_line: int
    confidence: float  # from 0 to 1
    why: str  # which fragments stand there


class DeclaredRepair(msgspec.Struct, frozen=True, kw_only=True):
    """A change of prompts that is meant: nothing else may be added, removed or changed."""

    kind: Literal["added", "removed", "changed", "moved"]
    text: str  # the static text in question, redacted; for "moved" the slot's path
    reason: str


class ReuseTarget(msgspec.Struct, frozen=True, kw_only=True):
    """Simulated hit rates of the finding's call site: recorded, repaired, and what must be reached.

    Required is 2 points less than repaired, for a good repair may word things a little longer, but
    never less than half of the gain.
    """

    hit_rate_before: float
    hit_rate_repaired: float
    hit_rate_required: float


class Preserve(msgspec.Struct, frozen=True, kw_only=True):
    """What prompts must hold after the repair as before; digests are SHA-256 of the plain text.

    A static fragment is a line of stable text without its outer white space, cut where a slot stands
    (``keepwarm.repair.fragments``). One that holds a secret is counted and has no digest: the rest of
    the line is shown elsewhere, and from a digest the secret could be tried out.
    """

    static_fragments: int
    static_fragment_sha256: tuple[str, ...]
    dynamic_paths: tuple[str, ...]
    tools: tuple[str, ...]
    roles: tuple[str, ...]


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """The whole task. ``locations`` may be empty: then ``not_located`` says what was looked for in vain."""

    schema: str = SCHEMA
    id: str
    trace_sha256: str
    base_commit: str | None
    finding: TaskFinding
    shown: ShownBreak
    locations: tuple[Location, ...]
    not_located: str | None
    allowed_files: tuple[str, ...]  # paths relative to the repository, or patterns as of pathlib's full_match
    moves_allowed: bool
    declared: tuple[DeclaredRepair, ...]
    preserve: Preserve
    target: ReuseTarget
    verify: tuple[str, ...]  # commands, to be run in the repository
    placeholders: dict[str, int]  # how many values of each kind were replaced
    together_with: tuple[str, ...] = ()  # findings that this one's gain needs repaired as well
    searched: str = ""  # which files were looked at for locations, and which not
