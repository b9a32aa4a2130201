"""``keepwarm vllm``: ComputeCache in the source tree of a vLLM that you build yourself."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keepwarm.cli import options as shared
from keepwarm.cli.output import write_bytes, write_text

if TYPE_CHECKING:
    from keepwarm.vllm.source import Status

app = typer.Typer(help="Put ComputeCache into a vLLM checkout, and take it out again.", rich_markup_mode=None)

SourceDir = Annotated[
    str, typer.Argument(metavar="SOURCE_DIR", help="Root of a vLLM v0.32.0 checkout.", show_default=False)
]
Check = Annotated[bool, typer.Option("--check", help="Find out whether it can be done; write nothing.")]
AssumeVersion = Annotated[
    str | None,
    typer.Option(
        "--assume-version",
        metavar="VERSION",
        help="Version of a tree that says none, an archive without git, say; anchors count all the same.",
    ),
]

_FILES = {
    "installed": "as installed",
    "original": "as vLLM made it",
    "earlier": "installed before",
    "edited": "edited",
    "missing": "missing",
}


def install_command(
    source_dir: SourceDir, check: Check = False, assume_version: AssumeVersion = None
) -> None:
    """Add ComputeCache to a checkout: all edits or none, undone byte for byte by uninstall."""
    from keepwarm.vllm.source import install

    done = install(source_dir, check=check, assume_version=assume_version)
    if not done.changed:
        write_text(f"ComputeCache is in vLLM {done.vllm} already; nothing to change\n")
        return
    verb = "can go into" if check else "is now in"
    lines = [f"ComputeCache {verb} vLLM {done.vllm}; it does nothing until COMPUTECACHE_MODE is set"]
    lines += [f"  edited  {path}" for path in done.edited] + [f"  added   {path}" for path in done.added]
    if not check:
        lines.append(f"test it there: python {shlex.quote(str(Path(source_dir) / done.added[-1]))}")
    write_text("\n".join(lines) + "\n")


def uninstall_command(source_dir: SourceDir) -> None:
    """Put every file of the checkout back, byte for byte."""
    from keepwarm.vllm.source import uninstall

    paths = uninstall(source_dir)
    if not paths:
        write_text("ComputeCache is not installed there; nothing to change\n")
        return
    write_text("ComputeCache is out again\n" + "".join(f"  restored or removed  {path}\n" for path in paths))


def status_command(source_dir: SourceDir, json: shared.Json = False) -> None:
    """Whether ComputeCache is in a checkout, which, and whether anybody edited it since."""
    from keepwarm.vllm.source import status

    found = status(source_dir)
    if json:
        from keepwarm._json import to_json

        write_bytes(to_json(_document(source_dir, found)))
        return
    write_text("\n".join(_lines(found)) + "\n")


def _document(source_dir: str, found: Status) -> dict[str, object]:
    return {
        "schema": "keepwarm.vllm-source-status/1",
        "source_dir": source_dir,
        "state": found.state,
        "vllm": found.vllm,
        "keepwarm": found.keepwarm,
        "module_sha256": found.module_sha256,
        "matches_this_keepwarm": found.matches_this_keepwarm,
        "files": [{"path": path, "state": state} for path, state in found.files],
    }


def _lines(found: Status) -> list[str]:
    lines = [_STATES[found.state]]
    if found.keepwarm is not None:
        same = "the same as" if found.matches_this_keepwarm else "not that of"
        lines.append(f"  vLLM {found.vllm}, from keepwarm {found.keepwarm}, {same} this keepwarm")
        lines.append(f"  policy module SHA-256 {found.module_sha256}")
    return lines + [f"  {_FILES[state]:<16} {path}" for path, state in found.files]


_STATES = {
    "not-installed": "not installed",
    "installed": "installed",
    "incomplete": "incomplete: an installation was interrupted, or files were restored; install or uninstall",
    "drifted": "drifted: files are not as they were installed; undo those edits, then uninstall or install",
}

app.command("install")(install_command)
app.command("uninstall")(uninstall_command)
app.command("status")(status_command)
