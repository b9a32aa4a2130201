"""Input that is nested deeper than Python can follow is wrong input: one line, exit 2."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest
import typer
from typer.testing import CliRunner

import keepwarm
from keepwarm._errors import InputError, ServerError
from keepwarm._json import decoded, parsed
from keepwarm.cli.boundary import Boundary
from keepwarm.repair.task import Task
from keepwarm.server.client import VllmClient
from tests.cli.test_commands import one_line

HOME = Path(keepwarm.__file__).parent
DEEP = b'{"a":' * 100_000 + b"1" + b"}" * 100_000
# What they read, keepwarm wrote a moment before.
OWN = {
    "api/jobs/process.py",
    "api/jobs/worker.py",
    "cache/bounded.py",
    "cache/parts.py",
    "cache/store.py",
    "diagnose/changes.py",
    "diagnose/same_things.py",
    "guard/checks/tools_and_roles.py",
    "trace/contents.py",
    "trace/tokens/byte_level.py",
    "trace/tokens/inner_cuts.py",
}


@pytest.mark.parametrize("kind", [dict[str, Any], Task])
def test_a_document_that_is_too_deep_is_none(kind: type) -> None:
    with pytest.raises(msgspec.DecodeError, match="nested too deeply"):
        decoded(DEEP, kind)
    with pytest.raises(ValueError, match="nested too deeply"):
        parsed(DEEP)


def test_a_server_whose_answer_is_too_deep() -> None:
    transport = httpx2.MockTransport(lambda _request: httpx2.Response(200, content=DEEP))
    with VllmClient("http://localhost:1", api_key=None, transport=transport, timeout_s=1) as client:
        with pytest.raises(ServerError, match="is this vLLM"):
            client.version()
        assert client.device_type() is None


def test_the_last_line_of_defence_calls_it_no_bug() -> None:
    app = typer.Typer(cls=Boundary, pretty_exceptions_enable=False)

    @app.command()
    def recurse() -> None:
        def deeper(value: Any) -> Any:
            return deeper([value])

        deeper(1)

    @app.command()
    def other() -> None:
        """A second command, so that the first keeps its name."""

    result = CliRunner().invoke(app, ["recurse"])
    assert result.exit_code == InputError.exit_code
    assert "nested deeper" in one_line(result.stderr)


def unguarded(source: Path) -> Iterator[str]:
    """Calls of a JSON reader outside of a ``try`` that expects RecursionError."""

    def visit(node: ast.AST, guarded: bool) -> Iterator[str]:
        if isinstance(node, ast.Try):
            caught = " ".join(ast.unparse(h.type) for h in node.handlers if h.type is not None)
            for child in node.body:
                yield from visit(child, guarded or "RecursionError" in caught)
            for child in [*node.handlers, *node.orelse, *node.finalbody]:
                yield from visit(child, guarded)
            return
        if isinstance(node, ast.Call) and not guarded:
            name = ast.unparse(node.func)
            if name in ("msgspec.json.decode", "json.loads") or name.endswith(".raw_decode"):
                yield f"{source.relative_to(HOME)}:{node.lineno} {name}"
        for child in ast.iter_child_nodes(node):
            yield from visit(child, guarded)

    yield from visit(ast.parse(source.read_text("utf-8")), guarded=False)


def test_no_reader_of_json_forgets_depth() -> None:
    ours = [path for path in HOME.rglob("*.py") if "vllm" not in path.relative_to(HOME).parts]
    found = [call for path in ours for call in unguarded(path) if call.partition(":")[0] not in OWN]
    assert found == []


def test_a_call_whose_arguments_are_too_deep(tmp_path: Path) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "[" * 60_000}}
    messages = [
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "there"},
    ]
    trace = tmp_path / "trace.jsonl"
    trace.write_text(json.dumps({"body": {"model": "m", "messages": messages}}))
    template = tmp_path / "template.jinja"
    template.write_text(
        "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls %}"
        "{{ c.function.arguments | tojson }}{% endfor %}{% endfor %}"
    )
    diagnosis = keepwarm.diagnose_trace(trace, keepwarm.Options(chat_template=str(template)))
    assert diagnosis.input.requests == 1
