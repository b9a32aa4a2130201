"""The protocol of a fix.

To add one: copy the smallest neighbour (``DropParam``), give it a stage, list it in ``__init__.py``.
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar

from keepwarm.diagnose.fixes.draft import Draft
from keepwarm.trace.catalog import Row
from keepwarm.trace.records import Request


class Stage(enum.IntEnum):
    """The order in which the fixes of a plan work on a draft: texts, messages, conversation, the rest."""

    SLOTS = 0  # only noted at first: ranges are those of the recorded text, so cuts are made together
    CONTENT = 1
    MESSAGE_ORDER = 2
    HISTORY = 3  # after all that changes messages: it grows from what earlier turns would have sent
    TOOL_CONTENT = 4
    TOOL_SET = 5
    TOOL_ORDER = 6  # after the tools it has to order are all there
    SETTINGS = 7


class Fix(ABC):
    """One change to a draft, at its ``stage``; ``rows`` are those it may change."""

    stage: ClassVar[Stage]

    def __init__(self, rows: Iterable[int]) -> None:
        self.rows = frozenset(rows)

    def reset(self) -> None:  # noqa: B027  most fixes remember nothing
        """Forget earlier requests. Mutates; called before a plan runs over a trace. Never raises."""

    @abstractmethod
    def apply(self, draft: Draft) -> None:
        """Change ``draft`` in place; may remember it for later requests, which come in recorded order.

        Never raises: a draft it cannot change is left as it is. Only called for ``rows``.
        """


def apply_fixes(fixes: Sequence[Fix], row: Row, request: Request) -> Request:
    """The request after ``fixes``, in stage order; the very one given if nothing changed.

    Mutates fixes that remember, never ``request``. Call in recorded order, after ``reset`` of each.
    """
    draft = Draft(row, request)
    ordered = sorted((fix for fix in fixes if row.index in fix.rows), key=lambda fix: fix.stage)
    for fix in ordered:
        if fix.stage is Stage.SLOTS:
            fix.apply(draft)
    draft.apply_cuts()
    for fix in ordered:
        if fix.stage is not Stage.SLOTS:
            fix.apply(draft)
    return draft.finish()
