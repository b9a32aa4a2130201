"""What was computed, a line a run, in ``rows.jsonl``; a row is good for the code that made it."""

from __future__ import annotations

import hashlib
from functools import cache
from typing import Any

import msgspec

from bench.cachewise.plan import Run as OneServer
from bench.cachewise.store import code_of as code_of_server
from bench.cachewise.store import rounded, statements
from bench.fleet.plan import Run
from bench.traces import REPOSITORY
from keepwarm._files import write_whole
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
    """All rows, in the order of the file; a line that was cut short is none."""
    lines = PATH.read_bytes().splitlines(keepends=True) if PATH.exists() else []
    return [msgspec.json.decode(line, type=Stored) for line in lines if line.endswith(b"\n")]


def append(run: Run, row: FleetRow) -> None:
    """Keep a row, its figures to six digits; a line that was cut short before it goes."""
    if PATH.exists() and not PATH.read_bytes().endswith(b"\n"):
        rewrite(read())
    with PATH.open("ab") as file:
        file.write(_line(Stored(run, code_of(run), row)))


def rewrite(rows: list[Stored]) -> None:
    """Write these rows in place of the file."""
    write_whole(PATH, b"".join(map(_line, rows)))


def figures(row: FleetRow) -> dict[str, Any]:
    """A row as it is stored, by the names of its figures."""
    found: dict[str, Any] = rounded(msgspec.to_builtins(row))
    return found


def _line(stored: Stored) -> bytes:
    return msgspec.json.encode(rounded(msgspec.to_builtins(stored))) + b"\n"


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
                found.update(statements(path))
    return found.hexdigest()[:12]
