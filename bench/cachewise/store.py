"""What was computed, a line a run, in ``rows.jsonl``; a row is good for the code that made it.

Of a module its statements count, not its comments and docstrings.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from bench.cachewise.plan import Run
from bench.traces import REPOSITORY
from keepwarm._files import write_whole
from keepwarm.serving.row import Row

PATH = REPOSITORY / "bench" / "cachewise" / "rows.jsonl"
_PACKAGES = ("policies", "reuse", "scheduling", "workload", "serving")
_NOT_RUN = ("report", "describe")
_WATCHES = "timeline"  # what such modules begin with: they look on, and no row goes through them
_DIGITS = 6


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
    lines = PATH.read_bytes().splitlines() if PATH.exists() else []
    return [msgspec.json.decode(line, type=Stored) for line in lines]


def append(run: Run, row: Row) -> None:
    """Keep a row, its figures to six digits."""
    with PATH.open("ab") as file:
        file.write(_line(Stored(run, code_of(run), row)))


def tidy(wanted: list[Run]) -> None:
    """Rewrite the file with the rows that are wanted and good, in their order."""
    good = load()
    rewrite(good[run] for run in wanted if run in good)


def rewrite(rows: Iterable[Stored]) -> None:
    """Write these rows in place of the file."""
    write_whole(PATH, b"".join(map(_line, rows)))


def figures(row: Row) -> dict[str, Any]:
    """A row as it is stored, by the names of its figures."""
    found: dict[str, Any] = rounded(msgspec.to_builtins(row))
    return found


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
            found.update(statements(path))
    return found.hexdigest()[:12]


def statements(path: Path) -> bytes:
    """What a module does, without its comments and docstrings."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and _is_text(body[0]):
            node.body = body[1:]  # type: ignore[attr-defined]
    return ast.dump(tree).encode()


def _is_text(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _line(stored: Stored) -> bytes:
    return msgspec.json.encode(rounded(msgspec.to_builtins(stored))) + b"\n"


def rounded(value: Any) -> Any:
    """Plain data with its floats to six digits."""
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}")
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    return value
