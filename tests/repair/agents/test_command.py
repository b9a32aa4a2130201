"""A command of any conduct, on a real repository."""

from __future__ import annotations

import os
import shlex
import signal
import stat
import sys
import threading
import time
from pathlib import Path

import pytest

from keepwarm._errors import InputError
from keepwarm.repair.agents.base import AgentRun, Assignment, Outcome
from keepwarm.repair.agents.checkout import look_at
from keepwarm.repair.agents.child import MARK
from keepwarm.repair.agents.command import CommandAgent, CommandOptions
from keepwarm.repair.agents.run import carry_out, read_assignment
from tests.repair.agents.sample import FIXED, PROMPTS, SOURCE, git, sample_task, write_task

PATIENCE_S = 60.0
FIX = f"from pathlib import Path; Path({PROMPTS!r}).write_text({FIXED!r})\n"


def python(code: str) -> str:
    return shlex.join([sys.executable, "-c", code])


def run(assignment: Assignment, code: str, **options: object) -> AgentRun:
    """What comes of a Python program as the agent; the user's checkout must be as it was."""
    given = {"command": python(code), "limit_s": PATIENCE_S, "grace_s": 2.0, **options}
    parent = assignment.repository.parent / "worktrees"
    parent.mkdir(exist_ok=True)
    before = look_at(assignment.repository)
    agent = CommandAgent(CommandOptions(parent=parent, **given))  # type: ignore[arg-type]
    result = carry_out(agent, assignment, lambda line: None)
    after = look_at(assignment.repository)
    assert after._replace(branches=b"") == before._replace(branches=b"")
    if result.outcome is not Outcome.DONE:
        assert after == before
        assert result.branch is None
        assert result.commit is None
        assert result.worktree is not None
        assert Path(result.worktree).parent.is_dir()
    return result


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_an_edit_that_was_not_committed_becomes_a_branch(assignment: Assignment) -> None:
    result = run(assignment, FIX)
    assert result.outcome is Outcome.DONE
    assert result.changed_files == (PROMPTS,)
    assert result.out_of_scope == ()
    assert result.exit_status == 0
    assert result.branch is not None
    repository = assignment.repository
    assert git(repository, "rev-parse", result.branch) == result.commit
    assert git(repository, "rev-parse", f"{result.branch}^") == assignment.base_commit
    assert git(repository, "show", f"{result.branch}:{PROMPTS}") + "\n" == FIXED
    assert git(repository, "diff", "--name-only", assignment.base_commit, result.branch) == PROMPTS
    assert git(repository, "fsck", "--strict") == ""
    assert (repository / PROMPTS).read_text() == SOURCE
    assert git(repository, "status", "--porcelain") == "M README.md\nA  staged.txt"


def test_what_it_committed_itself_counts(assignment: Assignment) -> None:
    code = FIX + (
        "import subprocess as s\n"
        "s.run(['git', 'commit', '-qam', 'mine'], check=True)\n"
        f"Path({PROMPTS!r}).write_text({FIXED!r} + '# and more\\n')\n"
    )
    result = run(assignment, code)
    assert result.outcome is Outcome.DONE
    assert git(assignment.repository, "show", f"{result.branch}:{PROMPTS}").endswith("# and more")


def test_the_task_comes_on_standard_input(assignment: Assignment) -> None:
    result = run(assignment, "import sys; print(sys.stdin.read())")
    assert result.outcome is Outcome.NO_CHANGE
    assert any("keepwarm verify" in line for line in result.log_tail)


def test_the_task_comes_as_a_file(assignment: Assignment) -> None:
    code = "import sys; t = open(sys.argv[1]).read(); print(t.splitlines()[0], repr(sys.stdin.read()))"
    result = run(assignment, code, command=python(code) + " {task}")
    assert result.log_tail[-1].startswith("You are asked to repair one thing")
    assert result.log_tail[-1].endswith("''")


def test_a_worktree_is_removed_on_request(assignment: Assignment) -> None:
    result = run(assignment, FIX, keep=False)
    assert result.outcome is Outcome.DONE
    assert result.worktree is None
    assert list((assignment.repository.parent / "worktrees").iterdir()) == []
    assert git(assignment.repository, "show", f"{result.branch}:{PROMPTS}") + "\n" == FIXED


def test_a_worktree_stays_if_something_failed(assignment: Assignment) -> None:
    result = run(assignment, FIX + "raise SystemExit(3)", keep=False)
    assert result.outcome is Outcome.FAILED
    assert result.exit_status == 3
    assert "exit status 3" in result.reason
    assert result.worktree is not None
    assert (Path(result.worktree) / PROMPTS).read_text() == FIXED


@pytest.mark.parametrize(
    ("code", "listed"),
    [
        ("Path('tests/test_app.py').unlink()", "tests/test_app.py"),
        ("Path('new.py').write_text('x')", "new.py"),
        ("Path('README.md').write_text('x')", "README.md"),
        (f"Path({PROMPTS!r}).chmod(0o755)", f"{PROMPTS} (mode 100644 became 100755)"),
        (f"p = Path({PROMPTS!r}); p.unlink(); p.symlink_to('/etc/passwd')", f"{PROMPTS} (a symbolic link)"),
        ("Path('link').symlink_to('/')", "link (a symbolic link)"),
        (f"Path({PROMPTS!r}).rename('app/moved.py')", "app/moved.py"),
        ("Path('we\\nird').write_text('x')", "we\nird"),
    ],
)
def test_edits_out_of_scope(assignment: Assignment, code: str, listed: str) -> None:
    result = run(assignment, FIX + code)
    assert result.outcome is Outcome.OUT_OF_SCOPE
    assert listed in result.out_of_scope
    assert "\n" not in result.reason


def test_a_repository_within_is_out_of_scope(assignment: Assignment) -> None:
    code = (
        "import subprocess as s\n"
        "s.run(['git', 'init', '-q', 'sub'], check=True)\n"
        "s.run(['git', 'commit', '-q', '--allow-empty', '-m', 'x'], cwd='sub', check=True)\n"
    )
    result = run(assignment, FIX + code)
    assert result.outcome is Outcome.OUT_OF_SCOPE
    assert result.out_of_scope == ("sub (a repository within)",)


def test_writing_through_a_link_into_the_checkout_is_seen(assignment: Assignment) -> None:
    target = assignment.repository / "README.md"
    code = f"""
import os
from pathlib import Path
os.symlink({str(assignment.repository)!r}, 'out')
Path('out/README.md').write_text('overwritten')
os.unlink('out')
"""
    given = CommandOptions(
        command=python(FIX + code), limit_s=PATIENCE_S, parent=assignment.repository.parent
    )
    result = carry_out(CommandAgent(given), assignment, lambda line: None)
    assert target.read_text() == "overwritten"
    assert result.outcome is Outcome.OUT_OF_SCOPE
    assert result.out_of_scope == ("README.md (in the checkout)",)
    assert result.branch is None


def test_links_of_the_repository_that_lead_out_are_left_out(app: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (app / "out").symlink_to(tmp_path / "outside")
    (app / "sub").mkdir()
    (app / "sub" / "here").symlink_to("../app")
    (app / "sub" / "dot").symlink_to(".")
    (app / "sub" / "around").symlink_to("dot/../../..")
    git(app, "add", "out", "sub")
    git(app, "commit", "-q", "-m", "links")
    task = sample_task(git(app, "rev-parse", "HEAD"))
    assignment = read_assignment(write_task(tmp_path / "task.json", task), app)
    code = """
import os, subprocess as s
print(sorted(os.listdir('.')), sorted(os.listdir('sub')), os.listdir('sub/here'))
print('status', repr(s.run(['git', 'status', '--porcelain'], capture_output=True, text=True).stdout))
"""
    result = run(assignment, FIX + code)
    assert result.outcome is Outcome.DONE
    assert "'out'" not in result.log_tail[0]
    assert "['dot', 'here'] ['prompts.py']" in result.log_tail[0]
    assert result.log_tail[1] == f"status ' M {PROMPTS}\\n'"
    assert git(app, "diff", "--name-only", assignment.base_commit, str(result.branch)) == PROMPTS


@pytest.mark.parametrize(
    "code",
    [
        "import shutil; shutil.rmtree('.git')",
        "import shutil, subprocess as s; shutil.rmtree('.git'); s.run(['git', 'init', '-q'], check=True)",
        "Path('.git/HEAD').write_text('nonsense')",
        "Path('.git/config').write_text('[core]\\n\\tworktree = /\\n\\tfsmonitor = /bin/false\\n')",
        "import subprocess as s; s.run(['git', 'checkout', '-q', '--orphan', 'x'], check=True)",
    ],
)
def test_whatever_becomes_of_its_git_the_edit_counts(assignment: Assignment, code: str) -> None:
    result = run(assignment, FIX + code)
    assert result.outcome is Outcome.DONE
    assert result.changed_files == (PROMPTS,)
    assert git(assignment.repository, "rev-parse", f"{result.branch}^") == assignment.base_commit


def test_a_worktree_that_was_deleted(assignment: Assignment) -> None:
    result = run(assignment, "import os, shutil; shutil.rmtree(os.getcwd())")
    assert result.outcome is Outcome.FAILED
    assert "the folder is gone" in result.reason


def test_what_cannot_be_read_fails(assignment: Assignment) -> None:
    result = run(assignment, FIX + "import subprocess as s; s.run(['git', 'init', '-q', 'sub'], check=True)")
    assert result.outcome is Outcome.FAILED
    assert "cannot read what the agent left" in result.reason


def test_no_change(assignment: Assignment) -> None:
    result = run(assignment, "pass")
    assert result.outcome is Outcome.NO_CHANGE
    assert result.changed_files == ()


def test_the_worktree_is_clean_and_has_no_remote(assignment: Assignment) -> None:
    # The branch is compared there: its name ends in a digest, which may look like a key and be covered.
    code = f"""
import subprocess as s
def git(*words):
    return s.run(['git', *words], capture_output=True, text=True, check=True).stdout
print('status', repr(git('status', '--porcelain')))
print('remote', repr(git('remote')))
print('branch', git('branch', '--show-current') == 'keepwarm/F1-{assignment.sha256[:8]}\\n')
print('log', repr(git('log', '--format=%s')))
"""
    result = run(assignment, code)
    assert result.log_tail == ("status ''", "remote ''", "branch True", "log 'first\\n'")


def test_pushing_is_refused(assignment: Assignment, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "target")
    code = f"""
import subprocess as s
for url in ({str(tmp_path / "target")!r}, {str(assignment.repository)!r}, 'git@github.com:acme/app.git'):
    done = s.run(['git', 'push', '-q', url, 'HEAD:refs/heads/pushed'], capture_output=True, text=True)
    print(done.returncode, done.stderr.strip())
"""
    result = run(assignment, code)
    assert [line.split(" ", 1)[0] for line in result.log_tail] == ["128"] * 3
    assert all("not allowed" in line for line in result.log_tail)
    assert git(tmp_path / "target", "for-each-ref") == ""


def test_the_environment_has_no_keys(assignment: Assignment, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "DEVIN_API_KEY", "SSH_AUTH_SOCK", "GIT_DIR", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "hunter2-hunter2")
    monkeypatch.setenv("GIVEN_KEY", "sesame-sesame")
    code = (
        "import os; print(sorted(os.environ)); print(os.environ['GIVEN_KEY'], len(os.environ['GIVEN_KEY']))"
    )
    monkeypatch.delenv("GIT_DIR")
    result = run(assignment, code, pass_on=("GIVEN_KEY",))
    names = result.log_tail[0]
    assert not any(word in names for word in ("OPENAI", "DEVIN", "SSH_AUTH", "AWS", "'GIT_DIR'"))
    assert "'PATH'" in names
    assert "'HOME'" in names
    assert result.log_tail[1] == "<GIVEN_KEY> 13"
    assert result.worktree is not None
    assert "sesame" not in (Path(result.worktree).parent / "output.log").read_text()


def test_output_is_redacted_where_it_is_kept(assignment: Assignment) -> None:
    secret = "sk-proj-" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ" * 2
    result = run(assignment, f"print('key', {secret!r}); print('mail', 'anna.schmidt@example.com')")
    assert result.worktree is not None
    kept = (Path(result.worktree).parent / "output.log").read_text()
    for text in (kept, str(result.log_tail)):
        assert secret not in text
        assert "anna.schmidt" not in text
    assert kept.startswith("key <")


def test_a_command_that_hangs_is_ended(assignment: Assignment) -> None:
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(1000)"
    result = run(assignment, FIX + code, limit_s=1.0, grace_s=0.2)
    assert result.outcome is Outcome.TIMED_OUT
    assert result.exit_status == -signal.SIGKILL
    assert result.changed_files == (PROMPTS,)


DAEMON = f"""
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        import signal
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        open('daemon.pid', 'w').write(str(os.getpid()))
        time.sleep(1000)
    os._exit(0)
while not (os.path.exists('daemon.pid') and os.path.getsize('daemon.pid')):
    time.sleep(0.01)
pid = int(open('daemon.pid').read())
os.unlink('daemon.pid')
print(pid, flush=True)
from pathlib import Path; Path({PROMPTS!r}).write_text({FIXED!r})
"""


@pytest.mark.parametrize("ending", ["", "time.sleep(1000)"])
def test_what_left_its_process_group_is_ended_too(assignment: Assignment, ending: str) -> None:
    result = run(assignment, DAEMON + ending, limit_s=PATIENCE_S if not ending else 2.0, grace_s=0.2)
    assert result.outcome is (Outcome.TIMED_OUT if ending else Outcome.DONE)
    assert not is_running(int(result.log_tail[0]))


def test_many_that_fork_are_ended(assignment: Assignment) -> None:
    code = """
import os, time
for _ in range(20):
    if os.fork() == 0:
        time.sleep(1000)
        os._exit(0)  # if pytest itself was killed, nobody ends this family: it must not go on forking
time.sleep(1000)
"""
    run(assignment, code, limit_s=1.0, grace_s=0.2)
    here = assignment.repository.parent / "worktrees"
    folders = [_folder(process) for process in Path("/proc").iterdir() if process.name.isdigit()]
    assert [folder for folder in folders if folder.is_relative_to(here)] == []


def _folder(process: Path) -> Path:
    try:
        return (process / "cwd").readlink()
    except OSError:  # it has gone, or is about to
        return Path()


def test_huge_output_is_cut(assignment: Assignment) -> None:
    code = "import sys\nfor i in range(200_000):\n    print('line', i, 'of many')\nprint('the end')"
    result = run(assignment, code)
    assert result.log_tail[-1] == "the end"
    assert len(result.log_tail) == 40
    assert result.worktree is not None
    kept = (Path(result.worktree).parent / "output.log").read_text()
    assert kept.startswith("(")
    assert "before this are left out)" in kept.splitlines()[0]
    assert len(kept) < 200_000


def test_one_endless_line_is_cut(assignment: Assignment) -> None:
    result = run(assignment, "import sys; sys.stdout.write('x' * 5_000_000)")
    assert all(len(line) <= 400 for line in result.log_tail)


def test_binary_output_is_kept_readable(assignment: Assignment) -> None:
    code = "import sys; sys.stdout.buffer.write(bytes(range(256)) * 4 + b'\\n\\x1b[31mred\\x1b[0m\\n')"
    result = run(assignment, code)
    assert result.log_tail[-1] == "red"
    assert all(line.isprintable() for line in result.log_tail)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"command": ""}, "names no program"),
        ({"command": "'unclosed"}, "quote it as in a shell"),
        ({"command": "no-such-program-at-all"}, "cannot start 'no-such-program-at-all'"),
        ({"pass_on": ("NO_SUCH_VARIABLE",)}, "is not set in the environment"),
        ({"branch": "bad..name"}, "is no name for a branch"),
        ({"branch": "-x"}, "is no name for a branch"),
        ({"branch": "main"}, "is there already"),
    ],
)
def test_a_wrong_call_leaves_nothing(
    assignment: Assignment, options: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        run(assignment, "pass", **options)
    assert list((assignment.repository.parent / "worktrees").glob("*")) == []


def test_a_folder_for_worktrees_that_is_not_there(assignment: Assignment) -> None:
    agent = CommandAgent(CommandOptions(command="true", parent=Path("/no/such/folder")))
    with pytest.raises(InputError, match="cannot make a folder"):
        carry_out(agent, assignment, lambda line: None)


def test_a_program_that_is_no_program(assignment: Assignment, tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("not executable")
    program.chmod(stat.S_IRUSR)
    with pytest.raises(InputError, match="Permission denied"):
        run(assignment, "", command=str(program))


def test_the_same_task_twice_needs_another_branch(assignment: Assignment) -> None:
    assert run(assignment, FIX).outcome is Outcome.DONE
    with pytest.raises(InputError, match="--branch"):
        run(assignment, FIX)
    assert run(assignment, FIX, branch="second").branch == "second"


def test_it_works_from_the_commit_of_the_task(assignment: Assignment) -> None:
    app = assignment.repository
    (app / PROMPTS).write_text("something later\n")
    git(app, "commit", "-q", "-m", "later", PROMPTS)
    result = run(assignment, f"print(open({PROMPTS!r}).read())\n" + FIX)
    assert result.log_tail[0] == SOURCE.splitlines()[0]
    assert git(app, "rev-parse", f"{result.branch}^") == assignment.base_commit


@pytest.mark.parametrize(
    ("code", "outcome"),
    [("", Outcome.DONE), ("Path('../README.md').write_text('x')", Outcome.OUT_OF_SCOPE)],
)
def test_a_folder_of_a_repository(app: Path, tmp_path: Path, code: str, outcome: Outcome) -> None:
    task = sample_task(git(app, "rev-parse", "HEAD"), allowed_files=("prompts.py",))
    assignment = read_assignment(write_task(tmp_path / "task.json", task), app / "app")
    assert assignment.prompt.endswith("relative to the folder `app/` of the repository.\n")
    result = run(assignment, f"from pathlib import Path; Path('prompts.py').write_text({FIXED!r})\n" + code)
    assert result.outcome is outcome
    assert PROMPTS in (result.changed_files or ())


def test_line_ends_and_filters_change_nothing(app: Path, tmp_path: Path) -> None:
    """Files as they were committed, though .gitattributes would have them otherwise, and filters run."""
    (app / "windows.bat").write_bytes(b"one\r\ntwo\r\n")
    (app / "large.bin").write_bytes(b"content\n")
    git(app, "add", "windows.bat", "large.bin")
    git(app, "commit", "-q", "-m", "files", "windows.bat", "large.bin")
    (app / ".gitattributes").write_text("*.bat text eol=crlf\n*.bin filter=upper\n")
    git(app, "config", "filter.upper.clean", "tr a-z A-Z")
    git(app, "config", "filter.upper.smudge", "tr A-Z a-z")
    git(app, "commit", "-q", "-m", "attributes", ".gitattributes")
    task = sample_task(git(app, "rev-parse", "HEAD"))
    assignment = read_assignment(write_task(tmp_path / "task.json", task), app)
    code = """
for name in ('windows.bat', 'large.bin'):
    raw = Path(name).read_bytes()
    print(raw)
    Path(name).unlink()
    Path(name).write_bytes(raw)
"""
    result = run(assignment, FIX + code)
    assert result.log_tail == ("b'one\\r\\ntwo\\r\\n'", "b'content\\n'")
    assert result.changed_files == (PROMPTS,)
    assert result.outcome is Outcome.DONE


def test_hooks_of_the_repository_do_not_run(assignment: Assignment, tmp_path: Path) -> None:
    for name in ("reference-transaction", "post-checkout", "pre-commit", "post-commit"):
        hook = assignment.repository / ".git" / "hooks" / name
        hook.write_text(f"#!/bin/sh\ntouch {tmp_path / 'hook-ran'}\n")
        hook.chmod(0o755)
    assert run(assignment, FIX).outcome is Outcome.DONE
    assert not (tmp_path / "hook-ran").exists()


def test_an_interrupt_ends_the_command(assignment: Assignment) -> None:
    parent = assignment.repository.parent
    marker = parent / "started"
    code = f"import os, time; open({str(marker)!r}, 'w').write(str(os.getpid())); time.sleep(1000)"
    agent = CommandAgent(CommandOptions(command=python(code), limit_s=PATIENCE_S, parent=parent, grace_s=2.0))

    def interrupt() -> None:
        while not (marker.exists() and marker.read_text()):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        carry_out(agent, assignment, lambda line: None)
    thread.join()
    assert not is_running(int(marker.read_text()))


def test_the_mark_is_not_our_own() -> None:
    assert MARK not in os.environ
