"""``keepwarm canary run``."""

from __future__ import annotations

import msgspec

from keepwarm.api.library.kinds.base import Head


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """What was served."""

    name: str


class CanaryHead(Head, frozen=True, kw_only=True):
    """The record of a canary."""

    kind = "canary"
    schema_name = "keepwarm.canary/1"
    made_by = "keepwarm canary run --out DIR"

    recorded_at: str
    model: Model
    accepted: bool

    def title(self) -> str:
        return f"{self.model.name}: {'accepted' if self.accepted else 'refused'}, {self.recorded_at}"
