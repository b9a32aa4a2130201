"""What was computed, a line a run, in ``rows.jsonl``; a row is good for the code that made it.

Of a module its statements count, not its comments and docstrings.
"""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from pathlib import Path

import msgspec

from bench.cachewise.plan import Run
from bench.traces import REPOSITORY
from keepwarm.serving.row import Row

PATH = REPOSITORY / "bench" / "cachewise" / "rows.jsonl"
_PACKAGES = ("policies", "reuse", "scheduling", "workload", "serving")
_NOT_RUN = ("report", "describe")
_DIGITS = 6


class Stored(msgspec.Struct, frozen=True):
    """A run, the digest of the code that made its row, and the row."""

    run: Run
    code: str
    row: Row


def load() -> dict[Run, Stored]:
    """All rows that were made by the code as it is now."""
    if not PATH.exists():
        return {}
    lines = PATH.read_bytes().splitlines()
    stored = (msgspec.json.decode(line, type=Stored) for line in lines)
    return {one.run: one for one in stored if one.code == code_of(one.run)}


def append(run: Run, row: Row) -> None:
    """Keep a row, its figures to six digits."""
    stored = msgspec.to_builtins(Stored(run, code_of(run), row))
    with PATH.open("ab") as file:
        file.write(msgspec.json.encode(_rounded(stored)) + b"\n")


def tidy(wanted: list[Run]) -> None:
    """Rewrite the file with the rows that are wanted and good, in their order."""
    good = load()
    lines = [msgspec.json.encode(_rounded(msgspec.to_builtins(good[run]))) for run in wanted if run in good]
    PATH.write_bytes(b"".join(line + b"\n" for line in lines))


def code_of(run: Run) -> str:
    """A digest of the modules that a run goes through."""
    return _digest(run.scheduling == "active-set")


@cache
def _digest(with_active_set: bool) -> str:
    root = REPOSITORY / "src" / "keepwarm"
    found = hashlib.sha256()
    for package in _PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            if set(path.relative_to(root).parts) & set(_NOT_RUN):
                continue
            if not with_active_set and path.stem in ("active_set", "rotation", "members", "footprints"):
                continue
            found.update(_statements(path))
    return found.hexdigest()[:12]


def _statements(path: Path) -> bytes:
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


def _rounded(value: object) -> object:
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}")
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    return value
