"""What lies in the folder that is served."""

from __future__ import annotations

from typing import Literal

import msgspec

Kind = Literal[
    "diagnosis",
    "cache-simulation",
    "serving-simulation",
    "timeline",
    "task",
    "verdict",
    "replay",
    "comparison",
    "canary",
    "tuning",
]


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """One result. ``id`` is stable as long as ``path`` is; ``path`` is relative to the served folder.

    ``trace_sha256`` is of the requests it is about, None where it is about none or does not say.
    ``problem``: why it cannot be shown, in one line with the next step; the rest is then what is known.
    """

    id: str
    kind: Kind
    title: str
    path: str
    modified_s: float  # epoch seconds, of the file
    trace_sha256: str | None = None
    problem: str | None = None


class Items(msgspec.Struct, frozen=True, kw_only=True):
    """A page of the results that were asked for, newest first; ``total`` of all pages."""

    items: tuple[Item, ...]
    total: int


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """What is served and how. ``revealed``: recorded values are shown where the results hold them."""

    name: str  # of the folder
    revealed: bool
    keepwarm_version: str


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Every answer that is none: what, where, what to do next, in one line."""

    problem: str


class WorstLoss(msgspec.Struct, frozen=True, kw_only=True):
    """The call site that loses most, and the finding there that gives back most (None: none does)."""

    call_site: str
    call_site_name: str
    lost_tokens: int
    hit_rate: float  # simulated, as is the next
    hit_rate_if_fixed: float
    finding: str | None = None
    cause: str | None = None
    owner: str | None = None
    path: str | None = None
    token_offset: int | None = None
    recoverable_tokens: int | None = None
    suggestion: str | None = None


class MeasuredGain(msgspec.Struct, frozen=True, kw_only=True):
    """The newest comparison, measured on a real server. ``same_trace``: it is of the diagnosed requests."""

    comparison: str
    hit_rate_before: float
    hit_rate_after: float
    ttft_ratio: float
    ttft_ratio_low: float | None
    ttft_ratio_high: float | None
    complete: bool
    same_trace: bool


class Behaviour(msgspec.Struct, frozen=True, kw_only=True):
    """Verdicts of the guard in the folder, by outcome; ``latest`` and ``waiting`` are ids of verdicts.

    A repair that was verified again, say after an approval, counts by its newest verdict; a refused attempt
    and the one that passed are of different commits, and both count.
    """

    passed: int
    failed: int
    needing_approval: int
    latest: str | None
    waiting: tuple[str, ...]


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """The answers to: which call site loses most, where and why, was a fix measured, did behaviour change.

    ``diagnosis`` is the id of the newest one, or of the one asked for. None: there is no such result.
    """

    diagnosis: str | None
    worst: WorstLoss | None
    measured: MeasuredGain | None
    behaviour: Behaviour | None
    canary: str | None
