from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from keepwarm._errors import InputError
from keepwarm.guard.base import Answer
from keepwarm.guard.checks.project_tests import ProjectTests
from tests.guard.building import Loop


def answer(loop: Loop, command: str, limit_s: float = 60.0) -> Answer:
    return ProjectTests().answer(loop.evidence(tests=command, tests_limit_s=limit_s))


def test_the_commit_is_tested_and_not_the_working_tree(loop: Loop) -> None:
    (loop.repository.folder / "helper.py").write_text("")
    (loop.repository.folder / "app.py").write_text("")
    code = "import os, app; assert app.prompt; assert not os.path.exists('helper.py')"
    assert answer(loop, f'python -c "{code}"').outcome == "pass"


def test_a_failure_is_kept_with_what_was_printed(loop: Loop) -> None:
    answered = answer(loop, "python -c \"print('one failed'); raise SystemExit(3)\"")
    assert answered.outcome == "fail"
    assert answered.problems[0].what == "the tests fail with exit status 3"
    assert answered.output == "one failed\n"


def test_a_signal_is_named(loop: Loop) -> None:
    answered = answer(loop, 'python -c "import os; os.kill(os.getpid(), 15)"')
    assert answered.problems[0].what == "the tests fail with signal 15"


def test_nothing_goes_through_a_shell(loop: Loop, tmp_path: Path) -> None:
    touched = tmp_path / "touched"
    code = "import sys; print(sys.argv[1:])"
    answered = answer(loop, f"python -c '{code}' ; touch {touched} $HOME * | cat && false")
    assert answered.outcome == "pass"
    assert not touched.exists()
    assert "$HOME" in answered.output


def test_keys_do_not_reach_the_tests(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    code = "import os; print(sorted(os.environ)); assert 'OPENAI_API_KEY' not in os.environ"
    answered = answer(loop, f'python -c "{code}"')
    assert answered.outcome == "pass"
    assert "GIT_DIR" not in answered.output
    assert str(Path.home()) not in answered.output


def test_when_the_time_is_up_everything_is_ended(loop: Loop, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    child = "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])"
    code = f"import subprocess, sys; c = {child}; open('{pid}', 'w').write(str(c.pid)); c.wait()"
    answered = answer(loop, f'python -c "{code}"', limit_s=3.0)
    assert answered.problems[0].what == "the tests took more than 3 s and were ended"
    assert _is_ended(int(pid.read_text()))


def _is_ended(pid: int) -> bool:
    """Whether a process is gone, or dead and waiting for its parent; given a moment to die."""
    for _ in range(200):
        try:
            os.kill(pid, 0)
            if ") Z" in Path(f"/proc/{pid}/stat").read_text():
                return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("command", ["", "no-such-program-anywhere", "'open"])
def test_a_command_that_cannot_run(loop: Loop, command: str) -> None:
    with pytest.raises(InputError, match="--tests"):
        answer(loop, command)
    assert len(loop.repository.git("worktree", "list").splitlines()) == 1


def test_secrets_in_what_was_printed_are_covered(loop: Loop) -> None:
    answered = answer(loop, "python -c \"print('key sk-abcdefghijklmnop1234')\"")
    assert "abcdefghijklmnop" not in answered.output


def test_hooks_of_the_repository_do_not_run(loop: Loop, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    hook = loop.repository.folder / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {ran}\n")
    hook.chmod(0o755)
    assert answer(loop, "python -c pass").outcome == "pass"
    assert not ran.exists()
