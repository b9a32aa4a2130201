"""The protocol of a fix."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar

from keepwarm.diagnose.fixes.draft import Draft
from keepwarm.trace.catalog import Row
from keepwarm.trace.records import Request


class Fix(ABC):
    """One change to a draft. ``stage`` orders fixes of a plan; ``rows`` are those it may change."""

    stage: ClassVar[int]

    def __init__(self, rows: Iterable[int]) -> None:
        self.rows = frozenset(rows)

    def reset(self) -> None:  # noqa: B027  most fixes remember nothing
        """Forget earlier requests. Called before a plan runs over a trace."""

    @abstractmethod
    def apply(self, draft: Draft) -> None:
        """Change ``draft`` in place. Never raises; a draft it cannot change is left as it is."""


def apply_fixes(fixes: Sequence[Fix], row: Row, request: Request) -> Request:
    """The request after ``fixes``, in stage order. Call in recorded order, after ``reset`` of each."""
    draft = Draft(row, request)
    ordered = sorted((fix for fix in fixes if row.index in fix.rows), key=lambda fix: fix.stage)
    for fix in ordered:
        if fix.stage == 0:
            fix.apply(draft)
    draft.apply_cuts()
    for fix in ordered:
        if fix.stage > 0:
            fix.apply(draft)
    return draft.finish()
