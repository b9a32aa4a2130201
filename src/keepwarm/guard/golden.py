"""Golden cases: what a model answered before and after a repair, as ``keepwarm.golden/1`` documents.

A directory holds one JSON file per case. Folders and files of other kinds in it are left alone.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from keepwarm._errors import InputError
from keepwarm.guard.content.pieces import canonical
from keepwarm.guard.strict import read_bytes, read_document

SCHEMA = "keepwarm.golden/1"


class ToolCall(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A call the model made; arguments as an object, or as the JSON text the model wrote."""

    name: str
    arguments: dict[str, Any] | str


class Output(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One answer of the model: its text, its tool calls, or both."""

    content: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()


class Contains(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind", tag="contains"
):
    """The content holds this text."""

    text: str


class NotContains(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    tag_field="kind",
    tag="not-contains",
):
    """The content does not hold this text."""

    text: str


class JsonField(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind", tag="json-field"
):
    """The content is JSON, and what lies at ``path`` (keys and indices with dots between) is ``equals``."""

    path: str
    equals: Any


class HasToolCall(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind", tag="tool-call"
):
    """This very call is among the tool calls; the order of keys in arguments does not matter."""

    name: str
    arguments: dict[str, Any]


class NoToolCall(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    tag_field="kind",
    tag="no-tool-call",
):
    """There is no tool call."""


Assertion = Contains | NotContains | JsonField | HasToolCall | NoToolCall


class GoldenCase(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One case. BEFORE was asked at least twice: how much its answers differ is the noise floor."""

    schema: str = SCHEMA
    case: str
    about: str = ""
    request: str | None = None  # id of the request in both traces
    before: tuple[Output, ...]
    after: tuple[Output, ...]
    assertions: tuple[Assertion, ...]


class Golden(NamedTuple):
    """A directory of cases, by name, and the SHA-256 of each file."""

    cases: tuple[GoldenCase, ...]
    sha256s: tuple[tuple[str, str], ...]


def read_golden(directory: Path) -> Golden:
    """Every case of ``directory``, in order of file names. Raises InputError: none, or one that is wrong."""
    if not directory.is_dir():
        raise InputError(f"--golden {str(directory)!r} is no folder; name the folder with the cases")
    cases: list[GoldenCase] = []
    digests: list[tuple[str, str]] = []
    names: dict[str, str] = {}
    for path in sorted(directory.glob("*.json"), key=lambda path: path.name):
        content = read_bytes(path, "golden case")
        case = read_document(content, GoldenCase, SCHEMA, f"golden case {path.name!r}")
        if not case.case.strip():
            raise InputError(f"golden case {path.name!r} has no name; give it one in 'case'")
        if case.case in names:
            raise InputError(
                f"golden cases {names[case.case]!r} and {path.name!r} are both {case.case!r}; rename one"
            )
        names[case.case] = path.name
        cases.append(case)
        digests.append((path.name, hashlib.sha256(content).hexdigest()))
    if not cases:
        raise InputError(f"--golden {str(directory)!r} holds no case; put one .json file per case there")
    return Golden(tuple(cases), tuple(digests))


def canonical_output(output: Output) -> str:
    """An answer as one text: equal for equal answers, whatever order the keys of arguments have."""
    calls = [[call.name, arguments_of(call)] for call in output.tool_calls]
    return canonical({"content": output.content or "", "tool_calls": calls})


def output_sha256(output: Output) -> str:
    """What an approval of this very output names."""
    return hashlib.sha256(canonical_output(output).encode("utf-8", "surrogatepass")).hexdigest()


def arguments_of(call: ToolCall) -> Any:
    """The arguments of a call as a value; text that is no JSON stays text."""
    if not isinstance(call.arguments, str):
        return call.arguments
    try:
        return json.loads(call.arguments)
    except (ValueError, RecursionError):
        return call.arguments


def holds(assertion: Assertion, output: Output) -> bool:
    """Whether ``assertion`` is true of one answer."""
    content = output.content or ""
    match assertion:
        case Contains(text=text):
            return text in content
        case NotContains(text=text):
            return text not in content
        case JsonField(path=path, equals=equals):
            found = _field(content, path)
            return found is not None and canonical(found[0]) == canonical(equals)
        case HasToolCall(name=name, arguments=arguments):
            wanted = canonical([name, arguments])
            return any(canonical([call.name, arguments_of(call)]) == wanted for call in output.tool_calls)
        case NoToolCall():
            return not output.tool_calls


def _field(content: str, path: str) -> tuple[Any] | None:
    """What lies at ``path``, in a tuple of one; None if it is not there."""
    try:
        value = json.loads(content)
        for step in path.split("."):
            value = value[int(step)] if isinstance(value, list) else value[step]
    except (ValueError, KeyError, IndexError, TypeError, RecursionError):
        return None
    return (value,)
