"""The protocol of a rule: one class per cause, its docstring is the documentation of the cause.

To add a cause: copy the smallest neighbour (``identity.py``), list it in ``__init__.py``; the
conformance suite in ``tests/diagnose/test_rules.py`` says what is missing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import msgspec

from keepwarm.diagnose.findings import Evidence, Owner
from keepwarm.diagnose.fixes import Fix

if TYPE_CHECKING:
    from keepwarm.diagnose.grow import GrowPrompt
    from keepwarm.diagnose.view import SiteView


class Anchor(NamedTuple):
    """A character of the value at a JSON path of one request: to be placed among its tokens."""

    row: int
    path: str
    char: int


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A suspected cause at a call site, before its gain is known.

    The gain comes from ``fixes`` (or ``grow``, for what a template does to tokens) by
    simulation, or is ``measured`` in tokens per row where a server's own figures show it.
    ``reading`` are rows whose cache reads the fix switches on. ``order`` is its place in the prompt
    (see ``_order``). The break is at ``token_offset``, or where ``anchor`` is found. ``confidence``
    is 0.95 for what the trace states, about 0.9 for what its values follow, less for what is likely.
    """

    path: str | None
    rows: tuple[int, ...]
    confidence: float
    evidence: Evidence
    order: float = 0.0
    slot_type: str | None = None
    fixes: tuple[Fix, ...] = ()
    grow: GrowPrompt | None = None
    reading: tuple[int, ...] = ()
    measured: Mapping[int, int] | None = None
    token_offset: int | None = None
    anchor: Anchor | None = None
    keep_without_gain: bool = False  # reported where nothing else at the call site is worth it


class Rule(ABC):
    """One cause. Subclasses set the class variables and say what they look for in their docstring."""

    code: ClassVar[str]
    owner: ClassVar[Owner]
    summary: ClassVar[str]  # one line for tables
    suggestion: ClassVar[str]  # what to change, in a sentence or two

    @abstractmethod
    def candidates(self, view: SiteView) -> Iterable[Candidate]:
        """Suspects at one call site, at most one per path; valid as long as ``view``.

        Reads ``view`` and changes nothing. Never raises on recorded input.
        """

    @classmethod
    def fixable(cls) -> bool:
        """Whether a change in the application's own source removes the cause."""
        return cls.owner in (Owner.APP, Owner.MODEL)
