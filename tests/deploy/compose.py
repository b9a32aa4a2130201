"""The compose files as a mapping, variables as they are written or as docker compose would fill them in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
VARIABLE = re.compile(r"\$\{(\w+)(?::([-?])([^}]*))?\}")


def load(name: str = "compose.yaml") -> dict[str, Any]:
    document = yaml.safe_load((DEPLOY / name).read_text())
    assert isinstance(document, dict)
    return document


def services() -> dict[str, dict[str, Any]]:
    return dict(load()["services"])


def resolved(value: Any, environment: Mapping[str, str]) -> Any:
    """With ``${NAME}``, ``${NAME:-default}`` and ``${NAME:?message}`` filled in."""
    if isinstance(value, Mapping):
        return {key: resolved(item, environment) for key, item in value.items()}
    if isinstance(value, list):
        return [resolved(item, environment) for item in value]
    return VARIABLE.sub(lambda match: _filled(match, environment), value) if isinstance(value, str) else value


def variables(text: str) -> set[str]:
    return {match[1] for match in VARIABLE.finditer(text)}


def _filled(match: re.Match[str], environment: Mapping[str, str]) -> str:
    name, operator, rest = match.groups()
    value = environment.get(name, "")
    if operator == "?" and not value:
        raise LookupError(rest)
    return value or (rest if operator == "-" else "")


def assignments(path: Path) -> Iterator[tuple[str, str, bool]]:
    """Name, value and whether it is commented out, of each line of an env file."""
    for match in re.finditer(r"^(#?)([A-Z]\w*)=(.*)$", path.read_text(), re.MULTILINE):
        yield match[2], match[3], bool(match[1])
