"""One question to one or two runs, and its answer as data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

Outcome = Literal["passed", "refused", "not shown"]


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """An answer: ``code`` is stable, ``message`` is for people, ``figures`` are what it rests on.

    ``not shown``: the figures allow neither answer. It refuses nothing and is said.
    """

    code: str
    outcome: Outcome
    message: str
    figures: Mapping[str, int | float | str | None] = {}

    @property
    def refused(self) -> bool:
        """Whether it says no."""
        return self.outcome == "refused"


def check(code: str, fine: bool, message: str, **figures: int | float | str | None) -> Check:
    """Passed if ``fine``, else refused."""
    return Check(code=code, outcome="passed" if fine else "refused", message=message, figures=figures)
