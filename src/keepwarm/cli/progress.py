"""A progress bar on standard error, where a person watches it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import rich.progress

    from keepwarm._progress import Progress


class _Bar:
    """Shows the current stage only; earlier ones are taken off the screen."""

    def __init__(self, bar: rich.progress.Progress) -> None:
        self._bar = bar
        self._task: rich.progress.TaskID | None = None

    def stage(self, name: str, total: int | None) -> None:
        if self._task is not None:
            self._bar.remove_task(self._task)
        self._task = self._bar.add_task(name, total=total)

    def advance(self, n: int = 1) -> None:
        if self._task is not None:
            self._bar.advance(self._task, n)


@contextlib.contextmanager
def progress_bar() -> Iterator[Progress | None]:
    """A bar while the block runs, or None where standard error is not a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield _Bar(bar)
