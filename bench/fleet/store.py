"""What was computed, a line a run, in ``rows.jsonl``; a row is good for the code that made it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache

import msgspec

from bench import row_file
from bench.cachewise.plan import Run as OneServer
from bench.cachewise.store import code_of as code_of_server
from bench.fleet.plan import Run
from bench.traces import REPOSITORY
from keepwarm.fleet.row import FleetRow

PATH = REPOSITORY / "bench" / "fleet" / "rows.jsonl"
_CODE = ("src/keepwarm/fleet", "bench/fleet/workload.py", "bench/fleet/compute.py")
_NOT_RUN = ("report", "grid")  # who asks for runs, and who shows them


class Stored(msgspec.Struct, frozen=True):
    """A run, the digest of the code that made its row, and the row."""

    run: Run
    code: str
    row: FleetRow


def load() -> dict[Run, FleetRow]:
    """All rows that were made by the code as it is now."""
    return {one.run: one.row for one in read() if one.code == code_of(one.run)}


def read() -> list[Stored]:
    """All rows, in the order of the file."""
    return row_file.read(PATH, Stored)


def append(run: Run, row: FleetRow) -> None:
    """Keep a row."""
    row_file.append(PATH, Stored(run, code_of(run), row))


def rewrite(rows: Iterable[Stored]) -> None:
    """Write these rows in place of the file."""
    row_file.rewrite(PATH, rows)


def code_of(run: Run) -> str:
    """A digest of the modules that a run goes through: one server's, and the fleet's."""
    return _digest(run.scheduling)


@cache
def _digest(scheduling: str) -> str:
    server = OneServer(scheduling=scheduling, eviction="lru", sessions=1, seed=0)
    found = hashlib.sha256(code_of_server(server).encode())
    for name in _CODE:
        root = REPOSITORY / name
        for path in sorted(root.rglob("*.py")) if root.is_dir() else [root]:
            if not {path.stem, path.parent.name} & set(_NOT_RUN):
                found.update(row_file.statements(path))
    return found.hexdigest()[:12]
