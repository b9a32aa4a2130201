"""Durations from any of the files that hold some."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from keepwarm._errors import TraceError
from keepwarm.reuse.durations import READERS
from keepwarm.reuse.durations.base import DurationReader, ToolDuration
from keepwarm.reuse.durations.csv_file import read_csv
from keepwarm.trace.readers.base import Unusable
from keepwarm.trace.readers.decode import decode_object
from keepwarm.trace.records import JsonObject
from keepwarm.trace.source import ByteSource, size_of

_MOST_SLACK_S = 1.0
_DAMAGED = "the rest of a broken compressed file"
_FORMATS = ", ".join(reader.name for reader in READERS)


class Durations(NamedTuple):
    """What a set of files says; ``notes`` are lines for a person, at most one a file."""

    durations: tuple[ToolDuration, ...]
    sources: tuple[str, ...]  # names of the files
    notes: tuple[str, ...]


class _File(NamedTuple):
    durations: list[ToolDuration]
    note: str | None


def read_durations(paths: Sequence[str | Path], censored_at_s: float | None = None) -> Durations:
    """Tool durations of all files; ``censored_at_s`` is where their recorder cut calls off.

    Without it: the limit a file declares, else none. A call up to a second (a thirtieth of a short limit)
    under the limit counts as cut off, since a recorder that polls stops early.

    Raises:
        TraceError: a file cannot be read, or is of no known format, or none of them holds a duration.
    """
    files = [_read_file(Path(path), censored_at_s) for path in paths]
    durations = tuple(chain.from_iterable(file.durations for file in files))
    notes = tuple(file.note for file in files if file.note is not None)
    if not durations:
        reason = notes[0] if notes else "no file was named"
        raise TraceError(f"no tool durations found: {reason}")
    return Durations(durations, tuple(Path(path).name for path in paths), notes)


def _read_file(path: Path, censored_at_s: float | None) -> _File:
    size_of(path, "tool calls")
    with contextlib.closing(ByteSource(path)) as source:
        source.layout()
        if source.stream.peek(1)[:1] not in (b"{", b"["):
            rows = read_csv(source, str(path))
            limit_s = rows.limit_s if censored_at_s is None else censored_at_s
            left_out = {"a row with no duration": rows.left_out, _DAMAGED: int(source.damage is not None)}
            return _File(_cut_off(rows.durations, limit_s), _note(path, left_out))
        reader, durations = _read_transcript(path, source)
        lacking = dict(reader.left_out)
        if source.damage is not None:
            lacking[_DAMAGED] = 1
    if not durations and not lacking:
        return _File([], f"{str(path)!r} has no tool call with a result")
    return _File(_cut_off(durations, censored_at_s), _note(path, lacking))


def _read_transcript(path: Path, source: ByteSource) -> tuple[DurationReader, list[ToolDuration]]:
    reader: DurationReader | None = None
    durations: list[ToolDuration] = []
    broken = 0
    for record in _records(source):
        if record is None:
            broken += 1
            continue
        if reader is None:
            found = next((known for known in READERS if known.owns(record)), None)
            reader = None if found is None else found(path.name)
        try:
            durations.extend(reader.read(record) if reader is not None else ())
        except RecursionError:
            broken += 1
    if reader is None:
        raise TraceError(
            f"no transcript of an agent recognised in {str(path)!r}; known are {_FORMATS}, and CSV"
        )
    durations.extend(reader.finish())
    if broken:
        reader.left_out["a line that cannot be read as JSON"] += broken
    return reader, durations


def _records(source: ByteSource) -> Iterator[JsonObject | None]:
    """Objects of the file; None for what is none."""
    for raw in source.records():
        if raw.data is not None and raw.data.isspace():
            continue
        try:
            yield decode_object(raw.data)
        except Unusable:
            yield None


def _cut_off(durations: Iterable[ToolDuration], limit_s: float | None) -> list[ToolDuration]:
    if limit_s is None:
        return list(durations)
    from_s = limit_s - min(_MOST_SLACK_S, limit_s / 30)
    return [
        duration._replace(cut_off=True) if duration.duration_s >= from_s else duration
        for duration in durations
    ]


def _note(path: Path, left_out: dict[str, int]) -> str | None:
    reasons = ", ".join(f"{count} × {reason}" for reason, count in sorted(left_out.items()) if count)
    return f"{str(path)!r}: left out {reasons}" if reasons else None
