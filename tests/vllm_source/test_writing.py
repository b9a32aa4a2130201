"""What fails at any step leaves the tree as it was; what is killed can be finished or undone."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from keepwarm._errors import InputError
from keepwarm.vllm.source import install, installer, status, uninstall
from keepwarm.vllm.source.policy_module import SUITE_PATHS
from tests.vllm_source.trees import FileAsItIs, picture

STEPS = [(os, "open"), (os, "fchmod"), (os, "fsync"), (Path, "replace"), (Path, "unlink")]
COMMANDS: dict[str, Callable[[str], object]] = {"install": install, "uninstall": uninstall}
FAILURES = [OSError(28, "No space left on device"), KeyboardInterrupt()]


class Nth:
    """Calls through, but for one call that raises."""

    def __init__(self, real: Callable[..., object], n: int, failure: BaseException) -> None:
        self._real, self._left, self._failure = real, n, failure
        self.failed = False

    def __get__(self, owner: object, _: type) -> Callable[..., object]:
        return lambda *arguments, **options: self(owner, *arguments, **options)

    def __call__(self, *arguments: object, **options: object) -> object:
        self._left -= 1
        if self._left == 0:
            self.failed = True
            raise self._failure
        return self._real(*arguments, **options)


def without_leftovers(tree: Path) -> dict[str, FileAsItIs]:
    """What was written beside a target and not cleaned up is overwritten the next time."""
    return {path: file for path, file in picture(tree).items() if ".keepwarm-" not in path}


@pytest.mark.parametrize("failure", FAILURES, ids=["disk full", "interrupted"])
@pytest.mark.parametrize(("owner", "name"), STEPS, ids=[name for _, name in STEPS])
@pytest.mark.parametrize("command", COMMANDS)
def test_whatever_step_fails_nothing_is_changed(
    tree: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    owner: object,
    name: str,
    failure: BaseException,
) -> None:
    original = picture(tree)
    install(str(tree))
    before, after = picture(tree), original
    if command == "install":
        before, after = after, before
    failed = 0
    for n in itertools.count(1):
        COMMANDS["uninstall" if command == "install" else "install"](str(tree))
        assert picture(tree) == before
        step = Nth(getattr(owner, name), n, failure)
        try:
            with monkeypatch.context() as patch:
                patch.setattr(owner, name, step)
                COMMANDS[command](str(tree))
        except (InputError, OSError, KeyboardInterrupt):
            # Cleaning up comes when all is done.
            assert picture(tree) == before or (name == "unlink" and without_leftovers(tree) == after), n
            failed += 1
            continue
        assert without_leftovers(tree) == after
        if not step.failed:  # so many calls are not made
            break
    assert failed or name == "unlink"


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("then", COMMANDS)
def test_killed_between_two_files(tree: Path, command: str, then: str) -> None:
    original = picture(tree)
    install(str(tree))
    patched = picture(tree)
    for n in itertools.count(1):
        COMMANDS["uninstall" if command == "install" else "install"](str(tree))
        if not killed_at(n, lambda: COMMANDS[command](str(tree))):
            break
        COMMANDS[then](str(tree))
        assert picture(tree) == (patched if then == "install" else original), n
    assert n > 5  # as many files, at least


@pytest.mark.parametrize("then", COMMANDS)
def test_killed_while_another_keepwarms_policy_is_replaced(
    tree: Path, monkeypatch: pytest.MonkeyPatch, then: str
) -> None:
    original = picture(tree)
    for n in itertools.count(1):
        with monkeypatch.context() as older:
            older.setattr(installer, "policy_module", lambda: "older = True\n")
            older.setattr(installer, "safety_suite", lambda: "older = True\n")
            install(str(tree))
        (tree / SUITE_PATHS[0]).parent.mkdir(parents=True)  # so the suite has to move, too
        if not killed_at(n, lambda: install(str(tree))):
            break
        COMMANDS[then](str(tree))
        if then == "install":
            assert status(str(tree)).state == "installed"
            assert status(str(tree)).matches_this_keepwarm
            uninstall(str(tree))
        assert picture(tree) == original, n
        (tree / SUITE_PATHS[0]).parent.rmdir()
    assert n > 3


def killed_at(n: int, run: Callable[[], object]) -> bool:
    """Whether a process that dies before its n-th rename or removal got so far."""
    child = os.fork()
    if child == 0:
        left = itertools.count(1)

        def dying(real: Callable[..., object]) -> Callable[..., object]:
            return lambda *arguments, **options: (
                os._exit(9) if next(left) == n else real(*arguments, **options)
            )

        Path.replace, Path.unlink = dying(Path.replace), dying(Path.unlink)  # type: ignore[method-assign]
        try:
            run()
            os._exit(0)
        finally:
            os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in {0, 9}
    return code == 9
