"""Whether only the allowed files changed, and no test checks less."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from keepwarm._text import counted
from keepwarm.guard.base import Evidence, GuardCheck, Look, Problem
from keepwarm.guard.git import Change, Git
from keepwarm.guard.shown import Shown
from keepwarm.guard.weaker_tests import Weakening, is_test, is_test_settings, stays_test, weakenings
from keepwarm.repair.allowed import is_allowed


class SourceScope(GuardCheck):
    """Only files that the task allows changed between base and head, and no test checks less than before.

    Base must be the commit the task was made for, and head must come from it. Every path that differs is
    looked at: new, deleted and renamed ones (both names must be allowed), links, submodules and changed modes
    (never allowed). Of tests, those that are gone, skipped or cannot be read are a fail; an assertion that is
    gone or reads differently, and a changed file of test settings, need an approval bound to the SHA-256 of
    the new file. Python is compared by its syntax tree; of other languages tests, assertions and skips are
    counted by patterns.
    """

    name = "source-scope"

    def look(self, evidence: Evidence) -> Look:
        git, shown = Git(evidence.repository), Shown(reveal=evidence.reveal)
        base, head = git.commit(evidence.base, "--base"), git.commit(evidence.head, "--head")
        changes = git.changes(base, head)
        problems = list(_history(git, base, head, evidence.task.base_commit))
        for change in changes:
            problems += _scope(change, evidence.task.allowed_files)
            problems += _tests(git, change, shown)
        if not changes:
            problems.append(
                Problem(
                    where=f"{base[:12]}..{head[:12]}",
                    what="nothing changed, so nothing was repaired",
                    next_step="give the commit that holds the repair with --head",
                )
            )
        return Look(
            f"{counted(len(changes), 'changed path')} from {base[:12]} to {head[:12]}, "
            f"{counted(len(evidence.task.allowed_files), 'file')} or pattern allowed",
            tuple(problems),
        )


def _history(git: Git, base: str, head: str, made_for: str | None) -> Iterator[Problem]:
    if made_for is not None and git.commit(made_for, "the task's base_commit") != base:
        yield Problem(
            where=f"--base {base[:12]}",
            what=f"the task was made for {made_for[:12]}",
            next_step="give that commit as --base, or export the task again",
        )
    if not git.is_ancestor(base, head):
        yield Problem(
            where=f"--head {head[:12]}",
            what="does not come from base, so their difference is not what the repair changed",
            next_step="rebase the repair on base",
        )


def _scope(change: Change, allowed: tuple[str, ...]) -> Iterator[Problem]:
    for path in dict.fromkeys((change.old_path, change.path)):
        if not is_allowed(path, allowed):
            yield Problem(
                where=path,
                what=f"{change.kind} outside the files that the task allows",
                next_step="undo it, or let the task's owner allow the file",
            )
    if change.special is not None:
        yield Problem(
            where=change.path,
            what=f"{change.special}, which no repair of prompts needs",
            next_step="undo it",
        )


def _tests(git: Git, change: Change, shown: Shown) -> Iterator[Problem]:
    if change.special is not None or change.kind == "added":
        return
    looks_like_test = is_test(change.old_path)
    if not looks_like_test and not is_test_settings(change.old_path):
        return
    before, after = git.blob(change.old_blob), git.blob(change.blob)
    digest = hashlib.sha256(after).hexdigest()
    if looks_like_test and change.kind == "renamed" and not stays_test(change.old_path, change.path):
        yield Problem(
            where=change.old_path,
            what=f"was renamed to {change.path}, where no test runner looks for tests",
            next_step="give it a name of a test again",
        )
    if looks_like_test:
        for weaker in weakenings(change.old_path, before, after):
            yield _weaker(weaker, change, digest, shown)
    if is_test_settings(change.old_path) and before != after:
        yield Problem(
            where=change.path,
            what="can choose which tests run, and it changed",
            next_step="read the change; approve this very file if no test is left out",
            approvable_sha256=digest,
        )


def _weaker(weaker: Weakening, change: Change, digest: str, shown: Shown) -> Problem:
    text = shown.own(" ".join(weaker.text.split()))
    what, approvable = {
        "gone": (f"the test {weaker.test} is gone{f': {text}' if text else ''}", None),
        "skipped": (f"{weaker.test} is skipped or left early: {text}", None),
        "unreadable": (f"{text}, so its tests cannot be compared", None),
        "fewer-assertions": (f"{weaker.test} does not check any more: {text}", digest),
    }[weaker.weight]
    return Problem(
        where=change.path,
        what=what,
        next_step="put it back" if approvable is None else "put it back, or approve this very file",
        approvable_sha256=approvable,
    )
