"""The pairs of a comparison as Parquet: one flat row a pair."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from keepwarm._text import encodable
from keepwarm.evidence.tables import Column, table_bytes
from keepwarm.replay.comparing.pairing import Pair

SCHEMA = "keepwarm.comparison-pairs/1"


class PairRow(msgspec.Struct, frozen=True, kw_only=True):
    """A request in both runs; what a failed one did not bring is None."""

    id: str
    session: str | None
    after_id: str
    before_status: str
    after_status: str
    before_prompt_tokens: int | None
    after_prompt_tokens: int | None
    before_cached_tokens: int | None
    after_cached_tokens: int | None
    before_ttft_s: float | None
    after_ttft_s: float | None
    output: Literal["equal", "changed", "unknown"]


_NUMBERS = (*("before_prompt_tokens", "after_prompt_tokens", "before_cached_tokens", "after_cached_tokens"),)
COLUMNS: tuple[Column, ...] = (
    Column("id", "string"),
    Column("session", "string", nullable=True),
    Column("after_id", "string"),
    Column("before_status", "string"),
    Column("after_status", "string"),
    *(Column(name, "int64", nullable=True) for name in _NUMBERS),
    Column("before_ttft_s", "float64", nullable=True),
    Column("after_ttft_s", "float64", nullable=True),
    Column("output", "string"),
)


def pair_row(pair: Pair) -> PairRow:
    """A pair as it is kept."""
    before, after = pair
    known = before.text_sha256 is not None and after.text_sha256 is not None
    is_equal = before.text_sha256 == after.text_sha256
    return PairRow(
        id=encodable(before.id),
        session=None if before.session is None else encodable(before.session),
        after_id=encodable(after.id),
        before_status=before.status,
        after_status=after.status,
        before_prompt_tokens=before.prompt_tokens,
        after_prompt_tokens=after.prompt_tokens,
        before_cached_tokens=before.cached_tokens,
        after_cached_tokens=after.cached_tokens,
        before_ttft_s=before.ttft_s,
        after_ttft_s=after.ttft_s,
        output=("equal" if is_equal else "changed") if known else "unknown",
    )


def pairs_to_parquet(rows: Sequence[PairRow]) -> bytes:
    """The file's bytes: the same for the same rows and the same pyarrow."""
    return table_bytes(SCHEMA, COLUMNS, [msgspec.structs.asdict(row) for row in rows])
