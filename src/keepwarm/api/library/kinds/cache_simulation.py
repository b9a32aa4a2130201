"""``keepwarm simulate cache``."""

from __future__ import annotations

import msgspec

from keepwarm.api.library.kinds.base import Head, TraceInput


class _Row(msgspec.Struct, frozen=True, kw_only=True):
    policy: str


class CacheSimulationHead(Head, frozen=True, kw_only=True):
    """Hit rates by policy and capacity."""

    kind = "cache-simulation"
    schema_name = "keepwarm.cache-sim/1"
    made_by = "keepwarm simulate cache TRACE --json"

    input: TraceInput
    rows: tuple[_Row, ...] = ()

    def title(self) -> str:
        policies = ", ".join(dict.fromkeys(row.policy for row in self.rows))
        return f"{self.input.name}: {policies or 'a sampled curve'} (simulated)"

    def trace_sha256(self) -> str | None:
        return self.input.sha256
