"""Rows of long computations, a line each in a file that grows run by run, and what code they are good for.

Of a module its statements count, not its comments and docstrings.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from keepwarm._files import write_whole

_DIGITS = 6
_Stored = TypeVar("_Stored", bound=msgspec.Struct)


def read(path: Path, kind: type[_Stored]) -> list[_Stored]:
    """All rows, in the order of the file; a line that was cut short is none."""
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    return [msgspec.json.decode(line, type=kind) for line in lines if line.endswith(b"\n")]


def append(path: Path, stored: msgspec.Struct) -> None:
    """Keep a row, its figures to six digits; a line that was cut short before it goes."""
    if path.exists() and not path.read_bytes().endswith(b"\n"):
        whole, _, _ = path.read_bytes().rpartition(b"\n")
        write_whole(path, whole + b"\n" if whole else b"")
    with path.open("ab") as file:
        file.write(_line(stored))


def rewrite(path: Path, rows: Iterable[msgspec.Struct]) -> None:
    """Write these rows in place of the file."""
    write_whole(path, b"".join(map(_line, rows)))


def figures(row: msgspec.Struct) -> dict[str, Any]:
    """A row as it is stored, by the names of its figures."""
    found: dict[str, Any] = _rounded(msgspec.to_builtins(row))
    return found


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


def _line(stored: msgspec.Struct) -> bytes:
    return msgspec.json.encode(figures(stored)) + b"\n"


def _rounded(value: Any) -> Any:
    """Plain data with its floats to six digits."""
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}")
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    return value
