"""A refusal says what to do next: after a semicolon, as a question, or as a verb behind a colon."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import keepwarm

HOME = Path(keepwarm.__file__).parent
ROOMS = ("api", "canary", "cli", "evidence", "gate", "guard", "repair", "replay", "server", "sweep", "trace")
ERRORS = {"InputError", "ServerError", "TraceError", "TemplateError", "TokenizerError"}
NEXT_STEP = re.compile(r"[;?]|: (give|name|pass|take|write) ")


def refusals(source: Path) -> Iterator[tuple[str, str]]:
    """Every message that is written where it is raised, with its place and without what is filled in."""
    for node in ast.walk(ast.parse(source.read_text("utf-8"))):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ERRORS
            and node.args
        ):
            message = node.args[0]
            parts = message.values if isinstance(message, ast.JoinedStr) else [message]
            written = [part.value for part in parts if isinstance(part, ast.Constant)]
            words = "".join(str(part) for part in written)
            if len(re.findall("[a-z]{2,}", words)) > 2:  # else the words come from elsewhere
                yield f"{source.relative_to(HOME)}:{node.lineno}", words


def test_every_refusal_says_what_to_do_next() -> None:
    found = [each for room in ROOMS for path in (HOME / room).rglob("*.py") for each in refusals(path)]
    assert len(found) > 200
    assert [(place, words) for place, words in found if not NEXT_STEP.search(words)] == []
