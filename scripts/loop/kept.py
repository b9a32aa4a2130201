"""What of a run is kept: tasks, verdicts, replays and comparisons, no traces and no logs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scripts.loop.chosen import SETS

_OF_ROUNDS = (
    "round-*/diagnosis.json",
    "round-*/task.md",
    "round-*/task.json",
    "round-*/*/verdict.json",
    "left/diagnosis.json",
)
_OF_REPLAYS = ("replays/*/before/*", "replays/*/after/*", "replays/*/comparison/*")


def keep(out: Path, into: Path) -> None:
    """Replace ``into`` by what is kept of the run in ``out``."""
    shutil.rmtree(into, ignore_errors=True)
    for path in _kept(out):
        target = into / path.relative_to(out)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)


def results_table(kept: Path) -> str:
    """The measured figures of what is kept, as Markdown; 95% intervals in parentheses."""
    found = {name: kept / "replays" / name / "comparison" / "comparison.json" for name in SETS}
    columns = [(name, json.loads(path.read_bytes())) for name, path in found.items() if path.is_file()]
    rows = [
        ("measured", *(f"`{name}`, {data['pairs']['compared']} requests" for name, data in columns)),
        ("---", *("---" for _ in columns)),
        ("hit rate before", *(_percent(data["hit_rate"]["before"]) for _, data in columns)),
        ("hit rate after", *(_percent(data["hit_rate"]["after"]) for _, data in columns)),
        ("simulated less measured, before and after", *(_residuals(data) for _, data in columns)),
        ("median TTFT before", *(_seconds(data["ttft"]["before_median_s"]) for _, data in columns)),
        ("median TTFT after", *(_seconds(data["ttft"]["after_median_s"]) for _, data in columns)),
        ("before ÷ after", *(_ratio(data["ttft"]["ratio"]) for _, data in columns)),
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _kept(out: Path) -> Iterator[Path]:
    for pattern in (*_OF_ROUNDS, *_OF_REPLAYS):
        yield from (path for path in sorted(out.glob(pattern)) if path.is_file())


def _percent(interval: dict[str, float]) -> str:
    return "{value:.1%} ({low:.1%} to {high:.1%})".format(**interval)


def _seconds(interval: dict[str, float]) -> str:
    return "{value:.3f} s ({low:.3f} to {high:.3f})".format(**interval)


def _ratio(interval: dict[str, float]) -> str:
    return "{value:.2f}× ({low:.2f} to {high:.2f})".format(**interval)


def _residuals(data: dict[str, Any]) -> str:
    """With the tokens counted from the trace itself, not those that the server counted."""
    points = [data[f"simulated_{side}"][-1]["residual_points"] for side in ("before", "after")]
    return " and ".join(f"{point:+.2f} points" for point in points)
