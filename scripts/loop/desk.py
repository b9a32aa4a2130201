"""The example as a git repository of its own, so that a repair is a commit one can verify."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from scripts.loop.shell import output_of

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "helpdesk"
REPAIRS = tuple(sorted((EXAMPLE / "repair").glob("*.patch")))
BAD_FIXES = tuple(sorted((EXAMPLE / "bad_fixes").glob("*.patch")))
TESTS = "python3 -m unittest discover -s tests"

_PARTS = ("helpdesk", "tests")
_IGNORED = shutil.ignore_patterns("__pycache__")
# The same commits, with the same hashes, wherever and whenever the loop runs.
_COMMITTER = {
    "GIT_AUTHOR_NAME": "Helpdesk team",
    "GIT_AUTHOR_EMAIL": "desk@pennant-ledger.example",
    "GIT_AUTHOR_DATE": "2026-05-13T09:00:00Z",
    "GIT_COMMITTER_NAME": "Helpdesk team",
    "GIT_COMMITTER_EMAIL": "desk@pennant-ledger.example",
    "GIT_COMMITTER_DATE": "2026-05-13T09:00:00Z",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


class Desk:
    """A checkout at ``path``; its files are those of the commit that was asked for last."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, path: Path) -> Desk:
        """A new repository with the application as it is, tests included, in one commit."""
        for part in _PARTS:
            shutil.copytree(EXAMPLE / part, path / part, ignore=_IGNORED)
        (path / ".gitignore").write_text("__pycache__/\n", encoding="utf-8")
        desk = cls(path)
        desk._git("init", "--quiet", "--initial-branch=main")
        desk._git("add", "--all")
        desk._git("commit", "--quiet", "--message", "The helpdesk")
        return desk

    @property
    def head(self) -> str:
        """The hash of the commit that is checked out."""
        return self._git("rev-parse", "HEAD").strip()

    def checkout(self, revision: str) -> None:
        """Make the files those of ``revision``."""
        self._git("checkout", "--quiet", "--detach", revision)

    def apply(self, patch: Path) -> str:
        """Commit a patch on top of what is checked out, and return the new commit."""
        self._git("am", "--quiet", "--committer-date-is-author-date", str(patch))
        return self.head

    def record(self, out: Path) -> None:
        """Record the day, seed 7, with the application as it is checked out."""
        self._python("-m", "helpdesk.record", "--out", str(out.resolve()))

    def golden_outputs(self) -> dict[str, Any]:
        """What the application's model answers in each golden case."""
        outputs: dict[str, Any] = json.loads(self._python("-m", "tests.golden_outputs"))
        return outputs

    def golden_cases(self) -> list[dict[str, Any]]:
        """The cases, with what is asserted of their outputs."""
        cases: list[dict[str, Any]] = json.loads(
            (self.path / "tests" / "golden_cases.json").read_text(encoding="utf-8")
        )
        return cases

    def _python(self, *arguments: str) -> str:
        return output_of(self.path, sys.executable, "-B", *arguments)

    def _git(self, *arguments: str) -> str:
        settings = [f"{name}={value}" for name, value in _COMMITTER.items()]
        return output_of(self.path, "env", *settings, "git", *arguments)
