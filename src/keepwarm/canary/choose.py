"""From what the caller named to the adapter that starts such a server."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import msgspec

from keepwarm._errors import InputError
from keepwarm.canary.servers.base import ServerAdapter

_WAYS = (
    "--local-model DIR, --compose FILE --service NAME --base-url URL, "
    "or --start-command COMMAND --stop-command COMMAND --base-url URL"
)


class ServerChoice(msgspec.Struct, frozen=True, kw_only=True):
    """Exactly one of ``local_model``, ``compose`` and ``start_command``; the others belong to one of them."""

    local_model: Path | None = None
    python: str | None = None  # with vLLM; None: this one
    blocks: int = 128  # the null block among them
    block_size: int = 32  # tokens
    compose: Path | None = None
    service: str | None = None
    start_command: str | None = None
    stop_command: str | None = None
    base_url: str | None = None


def adapter_for(choice: ServerChoice, logs: Path) -> ServerAdapter:
    """An adapter that has started nothing; ``logs`` is its folder. Raises InputError: no way or several."""
    ways = {
        "--local-model": choice.local_model,
        "--compose": choice.compose,
        "--start-command": choice.start_command,
    }
    given = [name for name, value in ways.items() if value is not None]
    if len(given) != 1:
        said = f"{' and '.join(given)} exclude each other" if given else "no server is named"
        raise InputError(f"{said}; give {_WAYS}")
    if choice.local_model is not None:
        return _local(choice.local_model, choice, logs)
    if choice.compose is not None:
        return _compose(choice.compose, choice, logs)
    return _commands(choice, logs)


def _local(model: Path, choice: ServerChoice, logs: Path) -> ServerAdapter:
    from keepwarm.canary.servers.local import LocalServer, cpu_options

    if not (model / "config.json").is_file():
        raise InputError(f"--local-model {str(model)!r} holds no config.json; name a model's folder")
    options = cpu_options(
        str(model),
        python=choice.python or sys.executable,
        block_size_tokens=choice.block_size,
        pool_blocks=choice.blocks,
    )
    return LocalServer(options, logs)


def _compose(file: Path, choice: ServerChoice, logs: Path) -> ServerAdapter:
    from keepwarm.canary.servers.compose import ComposeOptions, ComposeServer

    if not file.is_file():
        raise InputError(f"--compose {str(file)!r} is no file; name the project's compose.yaml")
    logs.mkdir(parents=True, exist_ok=True)
    return ComposeServer(
        ComposeOptions(
            base_url=_needed("--base-url", choice.base_url, "--compose"),
            service=_needed("--service", choice.service, "--compose"),
            files=(file,),
            override=logs / "override.json",
        )
    )


def _commands(choice: ServerChoice, logs: Path) -> ServerAdapter:
    from keepwarm.canary.servers.command import CommandOptions, CommandServer

    start = _needed("--start-command", choice.start_command, "--start-command")
    stop = _needed("--stop-command", choice.stop_command, "--start-command")
    return CommandServer(
        CommandOptions(
            base_url=_needed("--base-url", choice.base_url, "--start-command"),
            start=_words("--start-command", start),
            stop=_words("--stop-command", stop),
        ),
        logs,
    )


def _needed(option: str, value: str | None, way: str) -> str:
    if not value:
        raise InputError(f"{way} needs {option}; give {_WAYS}")
    return value


def _words(option: str, command: str) -> tuple[str, ...]:
    """As a shell would split them; no shell runs them."""
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise InputError(
            f"{option} {command!r} cannot be split into words: {error}; check its quotes"
        ) from error
    if not words:
        raise InputError(f"{option} {command!r} names no program; write the command as in a shell")
    return words
