"""The reference page and the commands say the same."""

from __future__ import annotations

import re
from pathlib import Path

import typer

from keepwarm.cli.app import app


def documented(page: str) -> dict[str, set[str]]:
    """Options and arguments per command, read from the tables under each heading."""
    found: dict[str, set[str]] = {}
    command = ""
    for line in page.splitlines():
        if heading := re.match(r"## `keepwarm ?(\S*)", line):
            command = heading[1].strip("`")
            found[command] = set()
        elif row := re.match(r"\| `([^`]+)`", line):
            found.setdefault(command, set()).add(row[1].split()[0])
    return found


def test_every_option_is_documented(repository: Path) -> None:
    page = documented((repository / "docs" / "reference" / "cli.md").read_text())
    group = typer.main.get_command(app)
    commands = group.commands  # type: ignore[attr-defined]
    for name, command in commands.items():
        names = {
            p.opts[0] if p.opts[0].startswith("--") else p.metavar for p in command.params if p.name != "help"
        }
        assert page[name] == names, name
    assert set(page) == {"", *commands}
    assert page[""] >= {"--version", "--help"}
