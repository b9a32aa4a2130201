"""A working tree of its own for an agent, and what the agent left in it as one commit.

It is no ``git worktree`` of the user's repository: that would share its branches, stash, remotes and
configuration with the agent. It is a repository beside, with the one commit that the task is about,
without a remote. What the agent left is read by a second repository that the agent does not work in
(``store``), so it does not matter what it did to its ``.git``. Into the user's repository go objects
and one branch, never its checkout, index or configuration.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Self

from keepwarm._errors import InputError
from keepwarm.repair.agents.git import OURS, Git
from keepwarm.repair.agents.scope import Change

# Bytes go in and out as they are, whatever .gitattributes says of line ends and filters.
_VERBATIM = "* -text -filter -ident -working-tree-encoding -eol\n"
_IDENTITY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "keepwarm"), ("EMAIL", "keepwarm@localhost"))
}


class Snapshot(NamedTuple):
    """What the agent left: a commit on the base, None if nothing changed."""

    commit: str | None
    changes: tuple[Change, ...]


class Worktree:
    """The folder ``root`` with ``tree``, where an agent works; nothing else in it is the agent's.

    Every method raises InputError: git or the disk refuses.
    """

    def __init__(self, root: Path, repository: Path, base: str) -> None:
        self.root = root
        self.tree = root / "tree"
        self.base = base
        self._user = Git(repository)
        self._store = Git(root / "store", OURS)
        place = {"GIT_DIR": str(root / "store"), "GIT_WORK_TREE": str(self.tree)}
        self._reader = Git(root, {**OURS, **_IDENTITY, **place, "GIT_INDEX_FILE": str(root / "index")})

    @classmethod
    def make(cls, repository: Path, base: str, branch: str, parent: Path | None) -> Self:
        """A new folder in ``parent`` with ``base`` checked out on ``branch``."""
        try:
            root = Path(tempfile.mkdtemp(prefix="keepwarm-task-", dir=parent)).resolve()
        except OSError as error:
            reason = error.strerror or error
            raise InputError(
                f"cannot make a folder for the agent in {str(parent)!r}: {reason}; name another --worktrees"
            ) from None
        made = cls(root, repository, base)
        try:
            made._fill(branch)
        except BaseException:
            made.remove()
            raise
        return made

    def _fill(self, branch: str) -> None:
        what = f"cannot make a worktree in {str(self.root)!r}; make room there, or name another --worktrees"
        form = self._user.run("rev-parse", "--show-object-format", what=what).decode().strip()
        self.tree.mkdir()
        (self.root / "store").mkdir()
        self._store.run("init", "-q", "--bare", f"--object-format={form}", ".", what=what)
        self._store.run("config", "core.bare", "false", what=what)
        self._verbatim(self.root / "store")
        self._copy_base(what)
        self._reader.run("read-tree", self.base, what=what)
        self._reader.run("checkout-index", "-a", "-f", "-q", "-u", what=what)
        leading_out = list(self._links_leading_out())
        agent = Git(self.tree, OURS)
        agent.run("init", "-q", f"--object-format={form}", f"--initial-branch={branch}", ".", what=what)
        self._verbatim(self.tree / ".git")
        alternates = self.tree / ".git" / "objects" / "info" / "alternates"
        alternates.write_text(f"{self.root / 'store' / 'objects'}\n")
        agent.run("update-ref", f"refs/heads/{branch}", self.base, what=what)
        agent.run("reset", "-q", "--mixed", what=what)
        for git in (self._reader, agent):
            if leading_out:
                git.run("update-index", "--skip-worktree", "--", *leading_out, what=what)

    def _copy_base(self, what: str) -> None:
        names, pack = self.root / "names", self.root / "pack"
        with names.open("wb") as out:
            self._user.run("rev-list", "--objects", "--no-walk", self.base, what=what, stdout=out)
        with names.open("rb") as listed, pack.open("wb") as out:
            self._user.run("pack-objects", "-q", "--stdout", what=what, stdin=listed, stdout=out)
        with pack.open("rb") as packed:
            self._store.run("index-pack", "--stdin", what=what, stdin=packed)
        for folder in (self.root / "store", self.tree / ".git"):
            folder.mkdir(exist_ok=True)
            (folder / "shallow").write_text(f"{self.base}\n")
        names.unlink()
        pack.unlink()

    def _verbatim(self, git_dir: Path) -> None:
        info = git_dir / "info"
        info.mkdir(parents=True, exist_ok=True)
        (info / "attributes").write_text(_VERBATIM)

    def _links_leading_out(self) -> Iterator[str]:
        """Links of the repository that point out of it: they are left out, with what is behind them."""
        listed = self._reader.run("ls-files", "-s", "-z", what="git cannot list the worktree")
        inside = str(self.tree) + os.sep
        for entry in listed.split(b"\0"):
            head, _, raw_path = entry.partition(b"\t")
            path = self.tree / os.fsdecode(raw_path)
            if head.startswith(b"120000") and not (os.path.realpath(path) + os.sep).startswith(inside):
                path.unlink()
                yield os.fsdecode(raw_path)

    def snapshot(self, message: str) -> Snapshot:
        """Everything in ``tree`` that git does not ignore, as one commit on the base."""
        what = f"cannot read what the agent left in {str(self.tree)!r}"
        if not self.tree.is_dir() or self.tree.is_symlink():
            raise InputError(f"{what}: the folder is gone; run the task again")
        self._reader.run("add", "-A", "--", ".", what=what)
        tree = self._reader.run("write-tree", what=what).decode().strip()
        arguments = ("diff-tree", "-r", "-z", "--raw", "--no-renames", "--full-index")
        changes = tuple(_parsed(self._reader.run(*arguments, self.base, tree, what=what)))
        if not changes:
            return Snapshot(None, ())
        commit = self._reader.run("commit-tree", tree, "-p", self.base, "-m", message, what=what)
        return Snapshot(commit.decode().strip(), changes)

    def deliver(self, commit: str, branch: str) -> None:
        """Make ``branch`` at ``commit`` in the user's repository; it must not be there."""
        what = f"cannot make branch {branch!r} in {str(self._user.folder)!r}"
        names, pack = self.root / "names", self.root / "pack"
        with names.open("wb") as out:
            self._store.run("rev-list", "--objects", commit, f"^{self.base}", what=what, stdout=out)
        with names.open("rb") as listed, pack.open("wb") as out:
            self._store.run("pack-objects", "-q", "--stdout", what=what, stdin=listed, stdout=out)
        with pack.open("rb") as packed:
            self._user.run("unpack-objects", "-q", what=what, stdin=packed)
        nothing = "0" * len(commit)
        self._user.run("update-ref", f"refs/heads/{branch}", commit, nothing, what=what)

    def remove(self) -> None:
        """Delete the folder, as far as that goes; never raises."""
        shutil.rmtree(self.root, ignore_errors=True)


def _parsed(raw: bytes) -> Iterator[Change]:
    """``:mode mode blob blob status NUL path NUL``, over and over."""
    fields = iter(raw.split(b"\0")[:-1])
    for head in fields:
        old_mode, mode = head.decode("ascii").lstrip(":").split(" ")[:2]
        yield Change(os.fsdecode(next(fields)), old_mode, mode)
