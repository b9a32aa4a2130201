"""Rewrite what is made from the example: ``traffic.repaired.jsonl.gz`` and the golden cases."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from scripts.loop.desk import EXAMPLE, REPAIRS, Desk
from scripts.loop.golden import write_cases


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


if __name__ == "__main__":
    generate(EXAMPLE)
    sys.exit(0)
