"""Rewrite what is made: ``traffic.repaired.jsonl.gz``, the golden cases, the figures in the documentation."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from scripts.loop.desk import EXAMPLE, REPAIRS, Desk
from scripts.loop.golden import write_cases
from scripts.loop.kept import results_table
from scripts.markers import between

EVIDENCE = EXAMPLE / "evidence"
PAGE = EXAMPLE.parents[1] / "docs" / "how-to" / "the-whole-loop.md"
_MARKERS = ("<!-- results: made by `python -m scripts.loop.generate` -->", "<!-- end of results -->")


def generate(into: Path) -> None:
    """Record the day and ask the golden cases with all repairs applied; write both into ``into``."""
    with tempfile.TemporaryDirectory() as folder:
        desk = Desk.create(Path(folder) / "desk")
        base = desk.head
        for patch in REPAIRS:
            desk.apply(patch)
        head = desk.head
        desk.record(into.resolve() / "traffic.repaired.jsonl.gz")
        shutil.rmtree(into / "golden", ignore_errors=True)
        write_cases(desk, base, head, into / "golden")


def page_with_results(page: str) -> str:
    """The page on the loop with the figures of the kept evidence."""
    return between(page, *_MARKERS, results_table(EVIDENCE))


if __name__ == "__main__":
    generate(EXAMPLE)
    PAGE.write_text(page_with_results(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    sys.exit(0)
