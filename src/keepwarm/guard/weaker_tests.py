"""Tests that check less than before: Python by its syntax tree, other languages by names and patterns."""

from __future__ import annotations

import ast
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import Literal, NamedTuple

Weight = Literal["gone", "skipped", "fewer-assertions", "unreadable"]

_TEST_FOLDERS = frozenset({"test", "tests", "spec", "specs", "__tests__", "testing"})
_TEST_NAME = re.compile(
    r"^(?:test_.*|.*_test|conftest|tests?)\.[a-z]+$|.*[._-](?:test|spec)\.[a-z]+$|.*Tests?\.[a-z]+$"
)
_SETTINGS = frozenset({"conftest.py", "pytest.ini", "tox.ini", "setup.cfg", "pyproject.toml", "noxfile.py"})
_SETTINGS_OF_OTHERS = re.compile(
    r"^(?:jest|vitest|karma|playwright)\.config\.[a-z]+$|^\.mocharc.*|^Makefile$"
)
_SKIPS = frozenset(
    {"skip", "skipif", "skipIf", "skipUnless", "xfail", "expectedFailure", "importorskip", "skipTest"}
)
_CHECKING_CALL = re.compile(r"^(?:assert|raises$|warns$|fail$|expect|check_)")
_OTHER_TEST = re.compile(
    r"\b(?:it|test|describe)\s*\(|\bfunc\s+Test\w+|@Test\b|#\[(?:\w+::)?test\]|\bdef\s+test_"
)
_OTHER_SKIP = re.compile(
    r"\b(?:it|test|describe)\.(?:skip|todo|only)\b|\bx(?:it|describe|test)\s*\(|@(?:Disabled|Ignore)\b|#\[ignore"
    r"|\bt\.Skip\w*\("
)
_OTHER_CHECK = re.compile(r"\bassert\w*\b|\bexpect\s*\(|\brequire\.\w+\(|\bt\.(?:Error|Fatal)\w*\(")


class Weakening(NamedTuple):
    """A test that is gone, skipped or checks less; ``text`` is what of it is not there any more."""

    weight: Weight
    test: str
    text: str


class _Test(NamedTuple):
    """A function of a test file; helpers check things, too."""

    is_test: bool
    checks: Counter[str]
    skips: Counter[str]
    body: str


def is_test(path: str) -> bool:
    """Whether a path looks like a test, by its name or a folder it is in."""
    pure = PurePosixPath(path)
    return bool(_TEST_FOLDERS & set(pure.parts[:-1])) or _TEST_NAME.match(pure.name) is not None


def stays_test(old_path: str, path: str) -> bool:
    """Whether a renamed test is still found as one, by its name if it was found by that."""
    by_name = _TEST_NAME.match(PurePosixPath(old_path).name) is not None
    return is_test(path) and (not by_name or _TEST_NAME.match(PurePosixPath(path).name) is not None)


def is_test_settings(path: str) -> bool:
    """Whether a file can choose which tests run and how."""
    name = PurePosixPath(path).name
    return name in _SETTINGS or _SETTINGS_OF_OTHERS.match(name) is not None


def weakenings(path: str, before: bytes, after: bytes) -> list[Weakening]:
    """What the tests of one file check less than before; a deleted file is empty ``after``."""
    old, new = (source.decode("utf-8", "replace") for source in (before, after))
    if PurePosixPath(path).suffix in (".py", ".pyi"):
        try:
            return list(_compared(_python(old), _python(new)))
        except (SyntaxError, ValueError, RecursionError):
            return [Weakening("unreadable", path, "is no Python that can be read")]
    return list(_by_pattern(path, old, new))


def _python(source: str) -> dict[str, _Test]:
    tests: dict[str, _Test] = {}
    tree = ast.parse(source)
    for name, node, owners in _functions(tree.body, (), ()):
        whole = "\n".join(map(ast.unparse, node.body))
        unique = name
        while unique in tests:  # Python runs the last one only; each is compared with its like
            unique += "'"
        tests[unique] = _Test(
            node.name.startswith("test") and all(map(_is_collected, owners)),
            Counter(_checks(node)),
            Counter(_skips([*owners, node], tree)),
            whole,
        )
    return tests


_Function = ast.FunctionDef | ast.AsyncFunctionDef


def _functions(
    body: Iterable[ast.stmt], names: tuple[str, ...], owners: tuple[ast.ClassDef, ...]
) -> Iterator[tuple[str, _Function, tuple[ast.ClassDef, ...]]]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _functions(node.body, (*names, node.name), (*owners, node))
        elif isinstance(node, _Function):
            yield ".".join((*names, node.name)), node, owners
        elif isinstance(node, (ast.If, ast.Try)):
            yield from _functions([*node.body, *node.orelse], names, owners)


def _is_collected(owner: ast.ClassDef) -> bool:
    """Whether pytest or unittest looks for tests in a class."""
    return owner.name.startswith("Test") or bool(owner.bases)


def _checks(function: _Function) -> Iterator[str]:
    """Assertions, calls that check something, and the cases a test is run with."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assert):
            yield ast.unparse(node.test)
        elif isinstance(node, ast.Call) and _CHECKING_CALL.match(_called(node)):
            yield ast.unparse(node)
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call) and _called(decorator) == "parametrize":
            for argument in decorator.args[1:2]:
                items = argument.elts if isinstance(argument, (ast.List, ast.Tuple)) else [argument]
                yield from (f"case {ast.unparse(item)}" for item in items)


def _skips(nodes: Sequence[_Function | ast.ClassDef], tree: ast.Module) -> Iterator[str]:
    """Marks, decorators and calls that keep a test from running or from counting, the module's too."""
    for node in nodes:
        for decorator in node.decorator_list:
            if _SKIPS & _names(decorator):
                yield ast.unparse(decorator)
    for inner in (part for node in nodes if isinstance(node, _Function) for part in ast.walk(node)):
        if isinstance(inner, ast.Call) and _called(inner) in _SKIPS:
            yield ast.unparse(inner)
        elif isinstance(inner, ast.Return) and inner.value is None:
            yield "return"
    bodies = [tree.body, *(node.body for node in nodes if isinstance(node, ast.ClassDef))]
    for statement in itertools.chain.from_iterable(bodies):
        if not isinstance(statement, (ast.Assign, ast.AnnAssign, ast.Expr)) or statement.value is None:
            continue
        if _SKIPS & _names(statement.value) or "__test__" in _names(statement):
            yield ast.unparse(statement)


def _names(node: ast.AST) -> set[str]:
    found = {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)}
    return found | {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def _called(call: ast.Call) -> str:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _compared(old: dict[str, _Test], new: dict[str, _Test]) -> Iterator[Weakening]:
    bodies = Counter((test.is_test, test.body) for name, test in new.items() if name not in old)
    for name, test in old.items():
        other = new.get(name)
        if other is None:
            if bodies[test.is_test, test.body]:
                bodies[test.is_test, test.body] -= 1  # renamed, word for word
            elif test.is_test or test.checks:
                yield Weakening("gone", name, "")
            continue
        for skip in (other.skips - test.skips).elements():
            yield Weakening("skipped", name, skip)
        for check in (test.checks - other.checks).elements():
            yield Weakening("fewer-assertions", name, check)


def _by_pattern(path: str, old: str, new: str) -> Iterator[Weakening]:
    """Counts only: what a test in another language checks cannot be read here."""
    patterns: tuple[tuple[Weight, re.Pattern[str], str], ...] = (
        ("gone", _OTHER_TEST, "tests"),
        ("fewer-assertions", _OTHER_CHECK, "assertions"),
    )
    for weight, pattern, what in patterns:
        before, after = len(pattern.findall(old)), len(pattern.findall(new))
        if after < before:
            yield Weakening(weight, path, f"{before} {what} before, {after} now, counted by patterns")
    added = Counter(_OTHER_SKIP.findall(new)) - Counter(_OTHER_SKIP.findall(old))
    for mark in added.elements():
        yield Weakening("skipped", path, mark)
