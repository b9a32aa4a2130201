"""``keepwarm verify``."""

from __future__ import annotations

import msgspec

from keepwarm.api.library.kinds.base import Head
from keepwarm.guard.base import Outcome


class _Before(msgspec.Struct, frozen=True, kw_only=True):
    sha256: str | None = None


class _Inputs(msgspec.Struct, frozen=True, kw_only=True):
    before: _Before | None = None


class VerdictHead(Head, frozen=True, kw_only=True):
    """The guard's verdict."""

    kind = "verdict"
    schema_name = "keepwarm.verdict/1"
    made_by = "keepwarm verify"

    outcome: Outcome
    task_id: str
    head: str  # commit
    cause: str
    inputs: _Inputs

    def title(self) -> str:
        return f"{self.task_id}: {self.outcome} ({self.cause})"

    def trace_sha256(self) -> str | None:
        return None if self.inputs.before is None else self.inputs.before.sha256
