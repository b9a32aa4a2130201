"""Tool calls in CSV: one row a call."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from typing import NamedTuple

from keepwarm._errors import TraceError
from keepwarm.reuse.calls import ToolCall
from keepwarm.reuse.durations.base import ToolDuration
from keepwarm.trace.source import ByteSource

TERMINAL_BENCH_LIMIT_S = 30.0
_TERMINAL_BENCH = frozenset(("t_llm_end", "t_tool_end"))
_MAX_CELL_CHARACTERS = 2**24


class CsvRows(NamedTuple):
    """Rows as durations; ``limit_s`` is where the recorder is known to cut off."""

    durations: list[ToolDuration]
    left_out: int  # rows without a duration from 0 up
    limit_s: float | None


def read_csv(source: ByteSource, shown: str) -> CsvRows:
    """Rows of a CSV file with the columns ``tool_s`` or ``duration_s``, and ``command`` or ``arguments``.

    It may have ``tool`` (else all call ``bash``), ``task`` (else all are of one) and ``cut_off`` (0 or 1).
    Recordings of Terminal-Bench, known by ``t_llm_end`` and ``t_tool_end``, are cut off at 30 s.

    Raises:
        TraceError: it is no CSV with these columns.
    """
    csv.field_size_limit(_MAX_CELL_CHARACTERS)
    text = io.TextIOWrapper(source.stream, encoding="utf-8-sig", errors="replace", newline="")
    rows = csv.DictReader(text)
    try:
        columns = frozenset(rows.fieldnames or ())
        seconds = _one_of(columns, ("tool_s", "duration_s"), shown)
        arguments = _one_of(columns, ("command", "arguments"), shown)
        found = list(_durations(rows, seconds, arguments))
    except csv.Error as error:
        raise TraceError(f"{shown!r} is no CSV: {error}; check the file") from None
    finally:
        text.detach()
    durations = [duration for duration in found if duration is not None]
    limit_s = TERMINAL_BENCH_LIMIT_S if columns >= _TERMINAL_BENCH else None
    return CsvRows(durations, len(found) - len(durations), limit_s)


def _one_of(columns: frozenset[str], names: tuple[str, str], shown: str) -> str:
    for name in names:
        if name in columns:
            return name
    raise TraceError(
        f"{shown!r} is neither a transcript of an agent nor CSV with a column {names[0]!r} or {names[1]!r}; "
        "check the file"
    )


def _durations(rows: csv.DictReader[str], seconds: str, arguments: str) -> Iterator[ToolDuration | None]:
    for row in rows:
        duration_s = _number(row.get(seconds))
        if duration_s is None:
            yield None
            continue
        call = ToolCall(row.get("tool") or "bash", row.get(arguments) or "").bounded()
        yield ToolDuration(call, duration_s, row.get("task") or "", row.get("cut_off") == "1")


def _number(cell: str | None) -> float | None:
    try:
        value = float(cell or "")
    except ValueError:
        return None
    return value if 0.0 <= value < math.inf else None
