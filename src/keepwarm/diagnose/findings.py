"""What a diagnosis is: plain data, printed by ``report`` and served as it stands.

The field names are the machine-readable contract ``keepwarm.diagnosis/1``: additions are
allowed, changes are not.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence

import msgspec

from keepwarm.diagnose.options import Options
from keepwarm.trace.records import EncodingInfo, Skipped


class Owner(enum.StrEnum):
    """Who can change a slot."""

    APP = "app"
    MODEL = "model"
    TEMPLATE = "template"
    ENGINE = "engine"


class InputInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Which file was read, and what could not be used of it."""

    path: str
    sha256: str
    format: str
    requests: int
    skipped: tuple[Skipped, ...] = ()
    prompt_texts_known: bool = True
    prompt_complete: bool = True


class CacheInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The simulated cache; ``capacity_blocks`` counts usable blocks, ``None`` is unbounded."""

    block_size: int
    capacity_blocks: int | None = None


class TokenFates(msgspec.Struct, frozen=True, kw_only=True):
    """What happened to each prompt token; the six after ``prompt`` add up to it."""

    prompt: int = 0
    hit: int = 0
    forced: int = 0
    partial: int = 0
    cold: int = 0
    diverged: int = 0
    evicted: int = 0


class CallSite(msgspec.Struct, frozen=True, kw_only=True):
    """A family of requests issued by one place of the application."""

    id: str
    name: str
    requests: int
    sessions: int
    hit_rate: float
    lost_tokens: int
    prompt_tokens: int = 0


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """The break in context: stable text, the values that vary, stable text.

    ``values`` are as recorded; renderers mask them unless asked to reveal.
    """

    request: str | None = None
    compared_with: str | None = None
    before: str = ""
    values: tuple[str, ...] = ()
    after: str = ""
    note: str = ""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One cause at one call site, with what removing it would give back."""

    id: str
    cause: str
    owner: Owner
    fixable: bool
    call_site: str
    path: str | None
    token_offset: int | None
    requests: int
    recoverable_tokens: int
    confidence: float
    evidence: Evidence
    suggestion: str
    added_tokens: int = 0  # what the repair itself puts into prompts, say history that is no longer cut
    slot_type: str | None = None  # time, id, identity, counter, passage, order, ...


class RequestRow(msgspec.Struct, frozen=True, kw_only=True):
    """One request of the diagnosis: a row of ``requests.parquet`` and of ``explain``."""

    index: int
    line: int
    id: str
    session: str
    call_site: str
    model: str
    time_s: float | None
    tokens: TokenFates
    cached_tokens: int | None = None  # as recorded
    baseline_request: str | None = None  # the earlier request with the longest common prefix
    break_token: int | None = None
    break_path: str | None = None
    break_before: str = ""  # a dozen tokens of text before the break
    break_here: str = ""  # what this request has there
    break_there: str = ""  # what the baseline has there
    # Characters of each token of the three, which add up to the text; empty where unknown or masked.
    break_before_tokens: tuple[int, ...] = ()
    break_here_tokens: tuple[int, ...] = ()
    break_there_tokens: tuple[int, ...] = ()
    break_byte: int | None = None  # UTF-8 bytes of the rendered prompt before the break
    causes: tuple[str, ...] = ()
    counted: bool = True  # False: beside a sample, for what it put into the cache; no figure is of it


class CallSiteError(msgspec.Struct, frozen=True, kw_only=True):
    """By how much the figures of a call site may be off."""

    id: str
    requests: int
    prompt_tokens: int
    hit_rate: float
    lost_tokens: int


class FindingError(msgspec.Struct, frozen=True, kw_only=True):
    """By how much the figures of a finding may be off."""

    id: str
    requests: int
    recoverable_tokens: int


class SampleInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What a diagnosis of a part of the sessions rests on, and by how much each of its figures may be off.

    ``requests`` of ``sessions`` were diagnosed, with ``context_requests`` beside them that count for nothing;
    tokens are scaled by ``size`` of ``total_size``, which ``size_unit`` counts, requests by their numbers.
    With ``confidence`` the figure of the whole trace is within the error. A finding that concerns fewer than
    ``seen_from_sessions`` may be missed: it is, with a probability above 1 - ``confidence``.
    """

    rate: float
    seed: int
    confidence: float
    sessions: int
    total_sessions: int
    requests: int
    context_requests: int
    size_unit: str
    size: int
    total_size: int
    seen_from_sessions: int
    hit_rate_error: float
    hit_rate_if_fixed_error: float
    token_errors: TokenFates
    call_site_errors: tuple[CallSiteError, ...]
    finding_errors: tuple[FindingError, ...]


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """The whole answer. ``rows`` is left out of ``--json`` (it goes to Parquet).

    ``options`` are those it was asked for with, so that a simulation can be repeated.
    """

    schema: str = "keepwarm.diagnosis/1"
    input: InputInfo
    cache: CacheInfo
    encoding: EncodingInfo
    tokens: TokenFates
    hit_rate: float
    hit_rate_if_fixed: float
    call_sites: tuple[CallSite, ...]
    findings: tuple[Finding, ...]
    options: Options = Options()
    sample: SampleInfo | None = None  # None: every session was diagnosed
    rows: Sequence[RequestRow] = ()
