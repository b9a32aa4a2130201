"""``keepwarm compare``."""

from __future__ import annotations

import msgspec

from keepwarm._text import counted
from keepwarm.api.library.kinds.base import Head


class _Side(msgspec.Struct, frozen=True, kw_only=True):
    label: str
    trace_sha256: str | None = None


class _Pairs(msgspec.Struct, frozen=True, kw_only=True):
    compared: int


class ComparisonHead(Head, frozen=True, kw_only=True):
    """BEFORE against AFTER."""

    kind = "comparison"
    schema_name = "keepwarm.comparison/1"
    made_by = "keepwarm compare BEFORE AFTER --out DIR"

    before: _Side
    after: _Side
    pairs: _Pairs

    def title(self) -> str:
        pairs = counted(self.pairs.compared, "pair")
        return f"{self.before.label} against {self.after.label}: {pairs} (measured)"

    def trace_sha256(self) -> str | None:
        return self.before.trace_sha256
