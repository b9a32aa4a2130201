"""``keepwarm task``."""

from __future__ import annotations

import msgspec

from keepwarm.api.library.kinds.base import Head


class _Finding(msgspec.Struct, frozen=True, kw_only=True):
    cause: str
    call_site: str
    call_site_name: str = ""


class TaskHead(Head, frozen=True, kw_only=True):
    """A task of repair; everything in it is redacted."""

    kind = "task"
    schema_name = "keepwarm.task/1"
    made_by = "keepwarm task export TRACE FINDING"

    id: str
    finding: _Finding
    sha256: str | None = msgspec.field(default=None, name="trace_sha256")

    def title(self) -> str:
        return f"{self.id}: {self.finding.cause} at {self.finding.call_site_name or self.finding.call_site}"

    def trace_sha256(self) -> str | None:
        return self.sha256
