"""A diagnosis in the parts that its views ask for."""

from __future__ import annotations

from typing import Literal

import msgspec

from keepwarm.diagnose.findings import Diagnosis, Finding, RequestRow, TokenFates


class DiagnosisAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The document without its rows, and what can be asked further.

    ``revealed``: values are shown. ``saved_masked``: they were masked when it was written, so that no server
    can show them. ``can_resimulate``: the trace is where it was and is the same; else ``why_not`` says more.
    """

    id: str
    diagnosis: Diagnosis
    revealed: bool
    saved_masked: bool
    has_map: bool
    has_templates: bool
    can_resimulate: bool
    why_not: str | None = None


class CallSiteRow(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the leaderboard. Both rates are simulated; ``findings`` most recoverable first.

    ``tokens``: None where the diagnosis was saved without its requests.
    """

    id: str
    name: str
    requests: int
    sessions: int
    tokens: TokenFates | None
    prompt_tokens: int
    lost_tokens: int
    hit_rate: float
    hit_rate_if_fixed: float
    findings: tuple[Finding, ...]


class CallSites(msgspec.Struct, frozen=True, kw_only=True):
    """Most lost tokens first."""

    call_sites: tuple[CallSiteRow, ...]


Order = Literal["time", "lost", "prompt", "hit_rate"]
"""In time; most lost tokens, longest prompt or lowest hit rate first."""


class Requests(msgspec.Struct, frozen=True, kw_only=True):
    """A page of the requests that were asked for; ``total`` of all pages."""

    requests: tuple[RequestRow, ...]
    total: int


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """A token as text; what a mask covers is one piece of its own, ``masked``."""

    text: str
    masked: bool = False


class RequestAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One request at a click: what stands around its break, and what the findings say about it.

    ``before``, ``here`` and ``there`` are the tokens in front of the break, behind it, and behind it in the
    baseline. ``break_byte`` counts UTF-8 bytes of the rendered prompt up to the break.
    """

    request: RequestRow
    baseline: RequestRow | None
    findings: tuple[Finding, ...]
    before: tuple[Piece, ...]
    here: tuple[Piece, ...]
    there: tuple[Piece, ...]
    break_byte: int | None
