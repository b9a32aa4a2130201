"""What was computed, a line a run, in ``rows.jsonl``; a row is good for the code that made it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache

import msgspec

from bench import row_file
from bench.cachewise.plan import Run
from bench.traces import REPOSITORY
from keepwarm.serving.row import Row

PATH = REPOSITORY / "bench" / "cachewise" / "rows.jsonl"
_PACKAGES = ("policies", "reuse", "scheduling", "workload", "serving")
_NOT_RUN = ("report", "describe")
_WATCHES = "timeline"  # what such modules begin with: they look on, and no row goes through them


class Stored(msgspec.Struct, frozen=True):
    """A run, the digest of the code that made its row, and the row."""

    run: Run
    code: str
    row: Row


def load() -> dict[Run, Stored]:
    """All rows that were made by the code as it is now."""
    return {one.run: one for one in read() if one.code == code_of(one.run)}


def read() -> list[Stored]:
    """All rows, in the order of the file."""
    return row_file.read(PATH, Stored)


def append(run: Run, row: Row) -> None:
    """Keep a row."""
    row_file.append(PATH, Stored(run, code_of(run), row))


def tidy(wanted: list[Run]) -> None:
    """Rewrite the file with the rows that are wanted and good, in their order."""
    good = load()
    rewrite(good[run] for run in wanted if run in good)


def rewrite(rows: Iterable[Stored]) -> None:
    """Write these rows in place of the file."""
    row_file.rewrite(PATH, rows)


def code_of(run: Run) -> str:
    """A digest of the modules that a run goes through."""
    return _digest(run.scheduling == "active-set")


@cache
def _digest(with_active_set: bool) -> str:
    root = REPOSITORY / "src" / "keepwarm"
    found = hashlib.sha256()
    for package in _PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            if set(path.relative_to(root).parts) & set(_NOT_RUN) or path.stem.startswith(_WATCHES):
                continue
            if not with_active_set and path.stem in ("active_set", "rotation", "members", "footprints"):
                continue
            found.update(row_file.statements(path))
    return found.hexdigest()[:12]
