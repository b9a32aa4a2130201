"""What of a run is kept: tasks, verdicts, replays and comparisons, no traces and no logs."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

_OF_ROUNDS = (
    "round-*/diagnosis.json",
    "round-*/task.md",
    "round-*/task.json",
    "round-*/*/verdict.json",
    "left/diagnosis.json",
)
_OF_REPLAYS = ("replays/*/before/**/*", "replays/*/after/**/*", "replays/*/comparison/**/*")


def keep(out: Path, into: Path) -> None:
    """Replace ``into`` by what is kept of the run in ``out``."""
    shutil.rmtree(into, ignore_errors=True)
    for path in _kept(out):
        target = into / path.relative_to(out)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)


def _kept(out: Path) -> Iterator[Path]:
    for pattern in (*_OF_ROUNDS, *_OF_REPLAYS):
        yield from (path for path in sorted(out.glob(pattern)) if path.is_file())
