"""What happened to each session of one simulated run."""

from __future__ import annotations

import msgspec

from keepwarm.api.library.kinds.base import Head


class TimelineHead(Head, frozen=True, kw_only=True):
    """Sessions over time."""

    kind = "timeline"
    schema_name = "keepwarm.serving-timeline/1"
    made_by = "keepwarm simulate serving TRACE"

    sha256: str | None = msgspec.field(default=None, name="trace_sha256")
    scheduling: str
    eviction: str
    seed: int

    def title(self) -> str:
        return f"{self.scheduling} with {self.eviction}, seed {self.seed} (simulated)"

    def trace_sha256(self) -> str | None:
        return self.sha256
