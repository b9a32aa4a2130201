"""A sweep from its spec to its rows: what is finished is kept, what is missing is computed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from keepwarm._interrupts import terminated_as_interrupted
from keepwarm._progress import Progress, Silent
from keepwarm.sweep.cells import Cell, Group
from keepwarm.sweep.columns import rows, rows_table
from keepwarm.sweep.engines.base import Engine
from keepwarm.sweep.results import Results, opened


class Failure(NamedTuple):
    """A cell without figures, and why."""

    cell: Cell
    reason: str


class Sweep(NamedTuple):
    """A sweep that has come to its end. ``rows``: of the cells that are done, by key, as at ``rows_path``.

    ``kept`` cells were finished before, ``computed`` ones now; ``lost``: see ``Engine``. Damaged parts were
    not as written, and their cells computed again.
    """

    cells: int
    kept: int
    computed: int
    lost: int
    damaged_parts: int
    failures: Sequence[Failure]
    rows: list[dict[str, Any]]
    rows_path: Path


def sweep(groups: Sequence[Group], engine: Engine, folder: Path, progress: Progress | None = None) -> Sweep:
    """Compute the cells that ``folder`` does not have yet, and write ``rows.parquet`` of all.

    Interrupted or killed, it leaves a folder that the next run goes on with.

    Raises:
        InputError: the folder or the engine cannot be used.
        KeyboardInterrupt: SIGINT or SIGTERM; what is finished is on disk.
    """
    cells = [cell for group in groups for cell in group.cells]
    with terminated_as_interrupted(), opened(folder) as results:
        missing = _missing(groups, results)
        kept = len(cells) - sum(len(group.cells) for group in missing)
        if missing:
            results.forget_rows()
        failures = list(_computed(missing, engine, results, progress or Silent()))
        whole = rows(cells, results.done)
        return Sweep(
            cells=len(cells),
            kept=kept,
            computed=len(cells) - kept - len(failures),
            lost=engine.lost,
            damaged_parts=len(results.damaged),
            failures=sorted(failures, key=lambda failure: failure.cell.key),
            rows=whole,
            rows_path=results.write_rows(rows_table(whole)),
        )


def _missing(groups: Sequence[Group], results: Results) -> list[Group]:
    left = [
        Group(group.source, [cell for cell in group.cells if cell.key not in results.done])
        for group in groups
    ]
    return [group for group in left if group.cells]


def _computed(
    missing: Sequence[Group], engine: Engine, results: Results, progress: Progress
) -> Iterator[Failure]:
    """Keeps what the engine tells; yields the failures."""
    if not missing:
        return
    progress.stage("sweeping", sum(len(group.cells) for group in missing))
    try:
        with contextlib.closing(engine.outcomes(missing)) as outcomes:
            for cell, figures, reason in outcomes:
                if figures is None:
                    yield Failure(cell, reason or "no figures")
                else:
                    results.add(cell.key, figures)
                progress.advance()
    finally:
        results.flush()
