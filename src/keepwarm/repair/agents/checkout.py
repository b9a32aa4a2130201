"""What the user's checkout looks like, to see afterwards that nobody touched it."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import NamedTuple

from keepwarm.repair.agents.git import Git


class Checkout(NamedTuple):
    """HEAD, branches, what is staged, and the files that differ from HEAD."""

    head: str
    branches: bytes
    staged_sha256: str
    differing: dict[str, str]  # by path: size and time of the last change, empty where there is no file

    def changed_since(self, before: Checkout) -> tuple[str, ...]:
        """What is no longer as it was ``before``, in words or by path."""
        found = []
        if self.head != before.head:
            found.append("HEAD of the checkout")
        if self.branches != before.branches:
            found.append("branches of the repository")
        if self.staged_sha256 != before.staged_sha256:
            found.append("the index of the checkout")
        paths = sorted(self.differing.keys() | before.differing.keys())
        found += [
            f"{path} (in the checkout)"
            for path in paths
            if self.differing.get(path) != before.differing.get(path)
        ]
        return tuple(found)


def look_at(repository: Path) -> Checkout:
    """The checkout at ``repository`` as it is. Changes nothing, not even what git remembers of files.

    Raises:
        InputError: git cannot tell.
    """
    git = Git(repository)
    what = f"git cannot tell the state of {str(repository)!r}"
    listed = git.run("diff", "--name-only", "-z", "--no-ext-diff", "HEAD", what=what)
    listed += git.run("ls-files", "-z", "--others", "--exclude-standard", what=what)
    paths = sorted({os.fsdecode(path) for path in listed.split(b"\0") if path})
    return Checkout(
        git.commit("HEAD") + git.run("rev-parse", "--symbolic-full-name", "HEAD", what=what).decode(),
        git.run("for-each-ref", "refs/heads", "refs/tags", "refs/stash", what=what),
        hashlib.sha256(git.run("ls-files", "-s", "-z", what=what)).hexdigest(),
        {path: _state(repository / path) for path in paths},
    )


def _state(path: Path) -> str:
    try:
        stat = path.lstat()
    except OSError:
        return ""
    return f"{stat.st_size} {stat.st_mtime_ns}"
