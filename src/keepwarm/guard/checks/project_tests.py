"""Whether the project's own tests pass with the repair."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from keepwarm.guard.base import Evidence, GuardCheck, Look, Problem
from keepwarm.guard.commands import Finished, run, split
from keepwarm.guard.git import Git
from keepwarm.guard.shown import Shown


class ProjectTests(GuardCheck):
    """The project's tests pass in a clean checkout of head.

    The command is split into words and run without a shell, in a git worktree of its own that is removed
    afterwards: files that are not committed do not help it. It gets few variables of the environment, no keys
    among them, an empty home folder, and a time limit, after which everything it started is ended. Exit
    status 0 is a pass, anything else a fail; what it printed is kept beside the verdict. Submodules are not
    checked out, and nothing keeps the tests from using the network.
    """

    name = "project-tests"
    needs = ("tests",)

    def look(self, evidence: Evidence) -> Look:
        assert evidence.tests is not None
        git, words = Git(evidence.repository), split(evidence.tests)
        head = git.commit(evidence.head, "--head")
        with _checkout(git, head) as folder:
            finished = run(words, folder, evidence.tests_limit_s)
        output = Shown(reveal=evidence.reveal).output(finished.output.replace(str(folder), "."))
        return Look(
            f"{evidence.tests!r} in a clean checkout of {head[:12]}",
            tuple(_problems(finished, evidence.tests_limit_s)),
            output,
        )


@contextlib.contextmanager
def _checkout(git: Git, head: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="keepwarm-verify-") as parent:
        folder = Path(parent) / "head"
        try:
            git.add_worktree(folder, head)
            yield folder
        finally:
            git.remove_worktree(folder)


def _problems(finished: Finished, limit_s: float) -> Iterator[Problem]:
    if finished.status is None:
        yield Problem(
            where="--tests",
            what=f"the tests took more than {limit_s:g} s and were ended",
            next_step="give them more time with --tests-limit-s, or a shorter command",
        )
    elif finished.status != 0:
        how = f"exit status {finished.status}" if finished.status > 0 else f"signal {-finished.status}"
        yield Problem(
            where="--tests",
            what=f"the tests fail with {how}",
            next_step="read what they printed (project-tests.txt with --out) and mend the repair",
        )
