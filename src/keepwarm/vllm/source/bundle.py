"""Several modules of keepwarm as one that needs none of them.

The text of each module is taken over as it stands, comments too, less its imports: those of the standard
library are gathered on top, those of keepwarm fall away, since all names now live in one module. That is only
right if no two modules mean different things by one name, so a name of two meanings is refused.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Iterator, Mapping, Sequence
from symtable import symtable
from typing import NamedTuple

from keepwarm._errors import IntegrityError

_PACKAGE = "keepwarm"
_LINE = 88  # columns, as vLLM's own source
_Import = ast.Import | ast.ImportFrom


class _Piece(NamedTuple):
    """A top-level statement with blank lines and comments above it, and the names it binds in the module."""

    text: str
    code: str  # without layout and comments
    names: frozenset[str]


class _Imported(NamedTuple):
    """``from module import name as bound``, or ``import module as bound`` without a name."""

    module: str
    name: str
    bound: str


def bundle(sources: Mapping[str, str], root: str) -> str:
    """``root`` and what it imports of ``sources`` (module → text) as the text of one module.

    It begins with ``from __future__``, without a docstring. Raises IntegrityError: two meanings of one name,
    an import of ours under another name or of a whole module, an import from outside the standard library
    that runs when the module loads.
    """
    order = modules_of(sources, root)
    bound: dict[str, str] = {}
    imports: set[_Imported] = set()
    for module in order:
        for imported in _outside(module, sources[module]):
            _claim(bound, imported.bound, f"{imported.module}.{imported.name}")
            imports.add(imported)
    parts = ["from __future__ import annotations", "", _import_lines(imports)]
    seen: set[str] = set()
    for module in order:
        parts.append(f"\n\n{_heading(module, sources[module])}\n")
        for piece in _pieces(module, sources[module]):
            if piece.code in seen:  # a logger, say, that several modules make in the same way
                continue
            seen.add(piece.code)
            for name in piece.names:
                _claim(bound, name, module)
            parts.append(piece.text)
    return "\n".join(parts) + "\n"


def modules_of(sources: Mapping[str, str], root: str) -> tuple[str, ...]:
    """The modules that go into the bundle, each after what it imports. Raises IntegrityError for a circle."""
    order: list[str] = []
    _visit(root, sources, order, ())
    return tuple(order)


def _visit(module: str, sources: Mapping[str, str], order: list[str], path: tuple[str, ...]) -> None:
    if module in path:
        raise IntegrityError(f"{' → '.join([*path, module])} import each other; a bundle needs an order")
    if module in order:
        return
    if module not in sources:
        raise IntegrityError(
            f"{path[-1] if path else 'the bundle'} imports {module}, which no bundle may hold"
        )
    for node in ast.walk(ast.parse(sources[module])):
        if isinstance(node, ast.ImportFrom | ast.Import) and _is_ours(node):
            _visit(_our_module(module, node), sources, order, (*path, module))
    order.append(module)


def _our_module(importer: str, node: _Import) -> str:
    if isinstance(node, ast.Import) or any(alias.asname for alias in node.names):
        raise IntegrityError(
            f"{importer}, line {node.lineno}: import names of {_PACKAGE} one by one, as they are called there"
        )
    return node.module or ""


def _is_ours(node: _Import) -> bool:
    modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
    return any(module.split(".")[0] == _PACKAGE for module in modules)


def _outside(module: str, text: str) -> Iterator[_Imported]:
    """What a module imports of the standard library at its top level."""
    for node in ast.parse(text).body:
        if not isinstance(node, ast.Import | ast.ImportFrom) or _is_ours(node):
            continue
        for alias in node.names:
            source = alias.name if isinstance(node, ast.Import) else node.module or ""
            name = "" if isinstance(node, ast.Import) else alias.name
            if source.split(".")[0] not in sys.stdlib_module_names:
                raise IntegrityError(f"{module}, line {node.lineno}: {source} is not of the standard library")
            if source != "__future__":
                yield _Imported(source, name, alias.asname or name or source)


def _import_lines(imports: set[_Imported]) -> str:
    lines = []
    for module in sorted({one.module for one in imports if not one.name}):
        lines += [
            f"import {module}" + (f" as {one.bound}" if one.bound != module else "")
            for one in sorted(imports)
            if one.module == module and not one.name
        ]
    for module in sorted({one.module for one in imports if one.name}):
        names = [
            one.name + (f" as {one.bound}" if one.bound != one.name else "")
            for one in sorted(imports)
            if one.module == module and one.name
        ]
        line = f"from {module} import {', '.join(names)}"
        if len(line) > _LINE:
            line = f"from {module} import (\n" + "".join(f"    {name},\n" for name in names) + ")"
        lines.append(line)
    return "\n".join(lines)


def _heading(module: str, text: str) -> str:
    """The module's docstring as a comment, after where it comes from."""
    comment = [f"From {module}:", "", *(ast.get_docstring(ast.parse(text)) or "").splitlines()]
    return "\n".join(f"# {line}".rstrip() for line in comment)


def _pieces(module: str, text: str) -> Iterator[_Piece]:
    """The statements that go into the bundle, in order."""
    lines, end = text.splitlines(), 0
    for node in ast.parse(text).body:
        start, end = end, node.end_lineno or 0
        if _is_dropped(node):
            continue
        kept = _without_our_imports(node, lines[start:end], start)
        code = ast.unparse(node)
        symbols = symtable(code, module, "exec").get_symbols()
        names = frozenset(symbol.get_name() for symbol in symbols if symbol.is_assigned())
        shadowed = sorted(names & vars(builtins).keys())
        if shadowed:
            raise IntegrityError(
                f"{module}, line {node.lineno}: {shadowed[0]} is a builtin; give it another name"
            )
        if kept:
            yield _Piece("\n".join(kept), code, names)


def _is_dropped(node: ast.stmt) -> bool:
    """Imports stand on top of the bundle, docstrings in its comments."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return True
    if isinstance(node, ast.If) and all(
        isinstance(inner, ast.Import | ast.ImportFrom) and _is_ours(inner) for inner in node.body
    ):
        return True  # if TYPE_CHECKING: ours alone
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and node.lineno == 1


def _without_our_imports(node: ast.stmt, lines: Sequence[str], start: int) -> list[str]:
    """The lines of a statement, with those imports inside it blanked that name what is in the bundle."""
    kept = list(lines)
    for inner in ast.walk(node):
        if isinstance(inner, ast.Import | ast.ImportFrom) and _is_ours(inner):
            first, last = inner.lineno - 1 - start, (inner.end_lineno or 0) - 1 - start
            indent = kept[first][: inner.col_offset]
            kept[first : last + 1] = [f"{indent}pass"] + [""] * (last - first)
    return kept


def _claim(bound: dict[str, str], name: str, owner: str) -> None:
    other = bound.setdefault(name, owner)
    if other != owner:
        raise IntegrityError(f"{name} means one thing in {other} and another in {owner}; rename one of them")
