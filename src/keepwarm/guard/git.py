"""git as the guard asks it: plumbing commands, no hooks, no configuration that changes what is printed."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from keepwarm._errors import InputError

_LIMIT_S = 120
_SUBMODULE, _LINK, _PROGRAM = "160000", "120000", "100755"

Kind = Literal["added", "deleted", "modified", "renamed"]


class Change(NamedTuple):
    """One path that differs; of a rename ``old_path`` and ``path`` differ. Modes as git writes them."""

    kind: Kind
    old_path: str
    path: str
    old_mode: str
    mode: str
    old_blob: str
    blob: str

    @property
    def special(self) -> str | None:
        """What a repair of prompts never needs: a link, a submodule, another mode."""
        modes = {self.old_mode, self.mode}
        if _LINK in modes:
            return "a symbolic link"
        if _SUBMODULE in modes:
            return "a submodule"
        if self.kind in ("modified", "renamed") and self.old_mode != self.mode:
            return f"its mode went from {self.old_mode} to {self.mode}"
        if self.kind == "added" and self.mode == _PROGRAM:
            return "a new program"
        return None


class Git:
    """A repository. Every method raises InputError: git is missing, refuses, or takes too long."""

    def __init__(self, repository: Path) -> None:
        self._repository = repository
        what = f"--repo {str(repository)!r} is no git repository; name a checkout"
        self.run("rev-parse", "--git-dir", what=what)

    def commit(self, revision: str, option: str) -> str:
        """The full hash of the commit that ``revision`` names."""
        out = self.run(
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            f"{revision}^{{commit}}",
            what=f"{option} {revision!r} names no commit in {str(self._repository)!r}; name another",
        )
        return out.decode().strip()

    def is_ancestor(self, base: str, head: str) -> bool:
        """Whether ``head`` was made from ``base``."""
        return self._run("merge-base", "--is-ancestor", base, head).returncode == 0

    def changes(self, base: str, head: str) -> list[Change]:
        """Every path that differs between two commits, renames found by git."""
        arguments = ("diff-tree", "-r", "-z", "-M", "--raw", "--full-index", "--no-ext-diff")
        out = self.run(*arguments, base, head, what="git cannot compare base and head")
        return list(_parsed(out))

    def blob(self, name: str) -> bytes:
        """A file's content; nothing for the blob that stands for no file."""
        if name.strip("0") == "":
            return b""
        return self.run("cat-file", "blob", name, what=f"git has no blob {name!r}")

    def add_worktree(self, folder: Path, commit: str) -> None:
        """A checkout of ``commit`` in ``folder``, which must not exist; no hook runs."""
        what = f"git cannot check out {commit}"
        self.run("worktree", "add", "--quiet", "--detach", str(folder), commit, what=what)

    def remove_worktree(self, folder: Path) -> None:
        """Forget the checkout and delete it, whatever was changed in it."""
        self._run("worktree", "remove", "--force", "--force", str(folder))

    def run(self, *arguments: str, what: str) -> bytes:
        """The standard output of a git command. Raises InputError: ``what``, and what git says."""
        done = self._run(*arguments)
        if done.returncode:
            said = " ".join(done.stderr.decode("utf-8", "replace").split())
            raise InputError(f"{what}{f' ({said})' if said else ''}; check --repo, --base and --head")
        return done.stdout

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        command = ["git", "-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=false", *arguments]
        try:
            return subprocess.run(  # noqa: S603 - a fixed program, its arguments never through a shell
                command,
                cwd=self._repository,
                env=_environment(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_LIMIT_S,
                check=False,
            )
        except FileNotFoundError as error:
            missing = f"--repo {str(self._repository)!r}" if error.filename != "git" else "the program git"
            raise InputError(f"{missing} is not there; check the path") from None
        except NotADirectoryError:
            raise InputError(f"--repo {str(self._repository)!r} is no folder; name a checkout") from None
        except subprocess.TimeoutExpired:
            raise InputError(
                f"git {arguments[0]} took more than {_LIMIT_S} s; check the repository"
            ) from None


def _environment() -> dict[str, str]:
    """What git needs and nothing that points it at another repository or program."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return kept | {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}


def _parsed(raw: bytes) -> Iterator[Change]:
    """The records of ``--raw -z``: ``:mode mode blob blob status NUL path NUL``, renames with two paths."""
    fields = iter(raw.split(b"\0")[:-1])
    for head in fields:
        old_mode, mode, old_blob, blob, status = head.decode("ascii").lstrip(":").split(" ")
        old_path = path = os.fsdecode(next(fields))
        if status[0] in "RC":
            path = os.fsdecode(next(fields))
        kinds: dict[str, Kind] = {"A": "added", "C": "added", "D": "deleted", "R": "renamed"}
        yield Change(kinds.get(status[0], "modified"), old_path, path, old_mode, mode, old_blob, blob)
