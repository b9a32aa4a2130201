"""The protocol of a rule: one class per cause, its docstring is the documentation of the cause."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, ClassVar

import msgspec

from keepwarm.diagnose.findings import Evidence, Owner
from keepwarm.diagnose.fixes import Fix

if TYPE_CHECKING:
    from keepwarm.diagnose.grow import GrowPrompt
    from keepwarm.diagnose.view import SiteView


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A suspected cause at a call site, before its gain is known.

    The gain comes from ``fixes`` (or ``grow``, for what a template does to tokens) by
    simulation, or is ``measured`` per row where a server's own figures show it. ``reading``
    are rows whose cache reads the fix switches on. ``order`` places it in the prompt.
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
    anchor: tuple[int, str, int] | None = None  # row, path and character of the break, to place it in tokens
    keep_without_gain: bool = False


class Rule(ABC):
    """One cause. Subclasses set the class variables and say what they look for in their docstring."""

    code: ClassVar[str]
    owner: ClassVar[Owner]
    summary: ClassVar[str]  # one line for tables
    suggestion: ClassVar[str]  # what to change, in a sentence or two

    @abstractmethod
    def candidates(self, view: SiteView) -> Iterable[Candidate]:
        """Suspects at one call site, at most one per path.

        Reads ``view`` and changes nothing. Never raises on recorded input.
        """

    @classmethod
    def fixable(cls) -> bool:
        """Whether a change in the application's own source removes the cause."""
        return cls.owner in (Owner.APP, Owner.MODEL)
