"""``keepwarm canary tune``."""

from __future__ import annotations

import msgspec

from keepwarm.api.library.kinds.base import Head
from keepwarm.api.library.kinds.canary import Model


class _Choice(msgspec.Struct, frozen=True, kw_only=True):
    rule: str
    scan_limit: int | None


class TuningHead(Head, frozen=True, kw_only=True):
    """The record of a search for the scan limit."""

    kind = "tuning"
    schema_name = "keepwarm.canary-tuning/1"
    made_by = "keepwarm canary tune --out DIR"

    recorded_at: str
    model: Model
    choices: tuple[_Choice, ...]

    def title(self) -> str:
        found = ", ".join(f"{each.rule} {each.scan_limit or 'none fit'}" for each in self.choices)
        return f"{self.model.name}: {found or 'no rule tried'}, {self.recorded_at}"
