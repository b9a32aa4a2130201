"""The reference page and the commands say the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from keepwarm.cli.app import app


def documented(page: str) -> dict[str, set[str]]:
    """Options and arguments per command, read from the tables under each heading."""
    found: dict[str, set[str]] = {}
    command = ""
    for line in page.splitlines():
        if heading := re.match(r"## `keepwarm ?([a-z ]*)", line):
            command = heading[1].strip()
            found[command] = set()
        elif row := re.match(r"\| `([^`]+)`", line):
            found.setdefault(command, set()).add(row[1].split()[0])
    return found


def commands_of(group: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every command with its full name, those of groups too."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands_of(command, f"{prefix}{name} ")
        else:
            yield prefix + name, command


def test_every_option_is_documented(repository: Path) -> None:
    page = documented((repository / "docs" / "reference" / "cli.md").read_text())
    commands = dict(commands_of(typer.main.get_command(app)))
    for name, command in commands.items():
        names = {
            p.opts[0] if p.opts[0].startswith("--") else p.metavar for p in command.params if p.name != "help"
        }
        assert page[name] == names, name
    assert set(page) == {"", *commands}
    assert page[""] >= {"--version", "--help"}


def test_every_setting_of_the_environment_is_documented(repository: Path) -> None:
    reference = repository / "docs" / "reference"
    page = (reference / "cli.md").read_text() + (reference / "settings.md").read_text()
    sources = (repository / "src" / "keepwarm").rglob("*.py")
    read = {name for source in sources for name in re.findall(r"\bKEEPWARM_\w+", source.read_text())}
    assert read
    assert {name for name in read if f"`{name}" not in page} == set()
