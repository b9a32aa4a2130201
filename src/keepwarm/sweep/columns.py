"""The columns of a sweep's rows: key, settings, figures. Every figure is simulated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import pyarrow as pa

from keepwarm.cache.simulation import SimulationRow
from keepwarm.serving.row import Row
from keepwarm.sweep.cells import Cell, CellKey, Figures

SCHEMA = "keepwarm.sweep/1"
_DIGITS = 6  # as in documents: the last bit of a sum does not change a row
_KINDS = {str: pa.string(), bool: pa.bool_(), int: pa.int64(), float: pa.float64()}
_Source = TypeVar("_Source")


class Column(NamedTuple, Generic[_Source]):
    """A figure, and where it is from."""

    name: str
    kind: type[int | float]
    of: Callable[[_Source], int | float | None]


CACHE: Sequence[Column[SimulationRow]] = (
    Column("requests", int, lambda row: row.requests),
    Column("query_tokens", int, lambda row: row.query_tokens),
    Column("hit_tokens", int, lambda row: row.hit_tokens),
    Column("hit_rate", float, lambda row: row.hit_rate),
    Column("evicted_blocks", int, lambda row: row.evicted_blocks),
    Column("evicted_then_requested_blocks", int, lambda row: row.evicted_then_requested_blocks),
    Column("cut_answers", int, lambda row: row.cut_answers),
    Column("reuse_after_eviction_p50_blocks", int, lambda row: _reuse(row, "p50_blocks")),
    Column("reuse_after_eviction_p90_blocks", int, lambda row: _reuse(row, "p90_blocks")),
    Column("reuse_after_eviction_p99_blocks", int, lambda row: _reuse(row, "p99_blocks")),
)
SERVING: Sequence[Column[Row]] = (
    Column("requests", int, lambda row: row.requests),
    Column("hit_rate", float, lambda row: row.hit_rate),
    Column("evicted_blocks", int, lambda row: row.evicted_blocks),
    Column("session_completion_s", float, lambda row: row.session_completion_s),
    Column("request_latency_p50_s", float, lambda row: row.request_latency_s.p50),
    Column("request_latency_p99_s", float, lambda row: row.request_latency_s.p99),
    Column("request_latency_max_s", float, lambda row: row.request_latency_s.max),
    Column("ttft_p50_s", float, lambda row: row.ttft_s.p50),
    Column("ttft_p99_s", float, lambda row: row.ttft_s.p99),
    Column("queue_wait_p99_s", float, lambda row: row.queue_wait_s.p99),
    Column("queue_wait_max_s", float, lambda row: row.queue_wait_s.max),
    Column("token_goodput", float, lambda row: row.token_goodput),
    Column("requests_per_s", float, lambda row: row.requests_per_s),
    Column("makespan_s", float, lambda row: row.makespan_s),
    Column("slowdown_p99", float, lambda row: row.slowdown_p99),
    Column("jain_index", float, lambda row: row.jain_index),
    Column("recomputed_tokens", int, lambda row: row.recomputed_tokens),
    Column("preemptions", int, lambda row: row.preemptions),
)
SETTINGS: dict[str, type] = {
    "kind": str,  # cache or serving
    "trace": str,  # as the spec names it
    "trace_sha256": str,
    "policy": str,
    "capacity_blocks": int,
    "ignore_output": bool,
    "match_unit_tokens": int,
    "scheduling": str,
    "eviction": str,
    "sessions": int,
    "seed": int,
    "profile": str,  # as the spec names it
    "capacity_tokens": int,
    "step_tokens": int,
    "gap_scale": float,
    "population": str,
}
_BLOCK_SIZE = "block_size"
FIGURES: dict[str, type] = {_BLOCK_SIZE: int} | {
    column.name: column.kind for columns in (CACHE, SERVING) for column in columns
}


def figures(columns: Sequence[Column[_Source]], row: _Source, block_size: int) -> Figures:
    """The figures of one simulation."""
    values = {column.name: column.of(row) for column in columns}
    rounded = {name: round(x, _DIGITS) if isinstance(x, float) else x for name, x in values.items()}
    return {_BLOCK_SIZE: block_size, **rounded}


def figures_table(done: dict[CellKey, Figures]) -> pa.Table:
    """Key and figures, a row a cell, in the order of ``done``."""
    return _table([{"key": key, **known} for key, known in done.items()], FIGURES)


def rows(cells: Sequence[Cell], done: dict[CellKey, Figures]) -> list[dict[str, Any]]:
    """Whole rows of the cells that are done, by key."""
    finished = sorted((cell for cell in cells if cell.key in done), key=lambda cell: cell.key)
    empty = dict.fromkeys((*SETTINGS, *FIGURES))
    return [{"key": cell.key, **empty, **cell.settings, **done[cell.key]} for cell in finished]


def rows_table(whole: list[dict[str, Any]]) -> pa.Table:
    """The same as a table."""
    return _table(whole, SETTINGS | FIGURES)


def _table(records: list[dict[str, Any]], kinds: dict[str, type]) -> pa.Table:
    fields = [pa.field("key", pa.string(), nullable=False)]
    fields += [pa.field(name, _KINDS[kind]) for name, kind in kinds.items()]
    return pa.Table.from_pylist(records, pa.schema(fields, metadata={"keepwarm": SCHEMA}))


def _reuse(row: SimulationRow, quantile: str) -> int | None:
    return None if row.reuse_after_eviction is None else getattr(row.reuse_after_eviction, quantile)
