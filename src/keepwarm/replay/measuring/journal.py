"""Rows on disk while a run lasts, one JSON line each; beside the folder that the run will fill.

The first line says which requests go to which server. A ``pause`` line is written where a run was interrupted
with nothing under way, or is complete: only then does the cache hold what the rows before it left, so only
then can the run go on. Any other journal is of a run that has to begin again with a reset.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import IO, Literal, NamedTuple, Self

import msgspec

from keepwarm._errors import InputError
from keepwarm.replay.measuring.record import Conditions, Counter, Row, ServerFacts


class Head(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="head"):
    """What the run is; ``before`` are the server's counters at its start."""

    schema: Literal["keepwarm.replay-journal/1"] = "keepwarm.replay-journal/1"
    plan_sha256: str
    conditions: Conditions
    server: ServerFacts
    reset: bool
    started: str
    before: dict[str, int]
    plugin_before: dict[str, float]
    restarts: int = 0


class Line(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="row"):
    """A finished request."""

    row: Row


class Pause(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="pause"):
    """Nothing under way, after so many seconds; the server's counters then."""

    wall_s: float
    counters: dict[str, int]


_Entry = Head | Line | Pause


class Interrupted(NamedTuple):
    """What an earlier run left. ``pause`` is None where it cannot go on; ``pauses`` counts them."""

    head: Head
    rows: tuple[Row, ...]
    pause: Pause | None
    pauses: int


def journal_of(out: Path) -> Path:
    """Where the journal of a run into ``out`` lies."""
    return out.with_name(f"{out.name}.journal.jsonl")


def read_journal(path: Path) -> Interrupted | None:
    """What lies there, None if nothing does. A torn last line is left out. Raises InputError: it is none."""
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"cannot read {str(path)!r}: {error.strerror}; check that it may be read") from None
    entries = _entries(lines[:-1], path)
    if not entries or not isinstance(entries[0], Head):
        raise InputError(f"{str(path)!r} is no journal of a replay; move it away, or name another --out")
    last = entries[-1]
    pause = last if isinstance(last, Pause) and not lines[-1] else None
    return Interrupted(
        head=entries[0],
        rows=tuple(entry.row for entry in entries if isinstance(entry, Line)),
        pause=pause,
        pauses=sum(isinstance(entry, Pause) for entry in entries),
    )


def _entries(lines: list[bytes], path: Path) -> list[_Entry]:
    decoder = msgspec.json.Decoder(_Entry)
    try:
        return [decoder.decode(line) for line in lines]
    except (msgspec.DecodeError, RecursionError) as error:
        raise InputError(
            f"{str(path)!r} is no journal of a replay ({error}); move it away, or name another --out"
        ) from None


class Journal:
    """Appends lines, each on disk before the next request counts. A context manager."""

    def __init__(self, path: Path, *, fresh: bool) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(
                path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | (os.O_TRUNC if fresh else 0), 0o600
            )
        except OSError as error:
            raise InputError(
                f"cannot write {str(path)!r}: {error.strerror}; name --out in a writable folder"
            ) from None
        self._file: IO[bytes] = os.fdopen(handle, "wb", buffering=0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def add(self, entry: Head | Line | Pause) -> None:
        """Raises OSError: the disk is full."""
        self._file.write(msgspec.json.encode(entry) + b"\n")


def rises(before: dict[str, int], after: dict[str, int]) -> dict[str, Counter]:
    """Counters that both scrapes have."""
    return {name: Counter(before=count, after=after[name]) for name, count in before.items() if name in after}
