from __future__ import annotations

from typing import Any

import msgspec
import pytest

from keepwarm._errors import InputError
from keepwarm.guard.base import Answer
from keepwarm.guard.checks.source_scope import SourceScope
from tests.guard.building import TEST, Loop, a_task


def answer(loop: Loop, files: dict[str, str | None], **task: Any) -> Answer:
    head = loop.repository.commit(files)
    chosen = a_task(loop.before, loop.repository.base, **task)
    return SourceScope().answer(loop.evidence(head=head, task=chosen))


def said(answered: Answer) -> str:
    return "\n".join(f"{problem.where}: {problem.what}" for problem in answered.problems)


@pytest.mark.parametrize(
    ("files", "what"),
    [
        ({"other.py": "VALUE = 2\n"}, "other.py: modified outside the files"),
        ({"other.py": None}, "other.py: deleted outside the files"),
        ({"new.py": ""}, "new.py: added outside the files"),
        ({"app.py.bak": ""}, "app.py.bak: added outside the files"),
        ({"sub/app.py": ""}, "sub/app.py: added outside the files"),
        ({"a file\twith\nall of it ‘ü’.py": ""}, "added outside the files"),
        ({"-rf": "", "$(id)": "", ".gitattributes": "* -diff\n"}, "-rf: added outside the files"),
    ],
)
def test_a_file_out_of_scope_fails(loop: Loop, files: dict[str, str | None], what: str) -> None:
    answered = answer(loop, files)
    assert answered.outcome == "fail"
    assert what in said(answered)


def test_a_rename_needs_both_names(loop: Loop) -> None:
    loop.repository.git("mv", "app.py", "prompts.py")
    head = loop.repository.committed()
    answered = SourceScope().answer(loop.evidence(head=head))
    assert "prompts.py" in said(answered)
    task = a_task(loop.before, loop.repository.base, allowed_files=("app.py", "prompts.py"))
    assert SourceScope().answer(loop.evidence(head=head, task=task)).outcome == "pass"


def test_links_modes_and_submodules_fail(loop: Loop) -> None:
    (loop.repository.folder / "app.py").chmod(0o755)
    answered = answer(loop, {})
    assert "its mode went from 100644 to 100755" in said(answered)
    (loop.repository.folder / "app.py").unlink()
    (loop.repository.folder / "app.py").symlink_to("/etc/passwd")
    assert "a symbolic link" in said(answer(loop, {}))
    loop.repository.git("update-index", "--add", "--cacheinfo", f"160000,{loop.head},vendored")
    head = loop.repository.committed()
    task = a_task(loop.before, loop.repository.base, allowed_files=("**",))
    answered = SourceScope().answer(loop.evidence(head=head, task=task))
    assert "vendored: a submodule" in said(answered)


def test_a_name_that_is_no_utf8(loop: Loop) -> None:
    (loop.repository.folder / "caf\udce9.py").write_bytes(b"")
    answered = answer(loop, {})
    assert answered.outcome == "fail"
    assert "caf" in said(answered)


def test_nothing_changed_and_other_histories_fail(loop: Loop) -> None:
    assert "nothing changed" in said(SourceScope().answer(loop.evidence(head=loop.repository.base)))
    turned = loop.evidence(base=loop.head, head=loop.repository.base)
    assert "the task was made for" in said(SourceScope().answer(turned))
    assert "does not come from base" in said(SourceScope().answer(turned))


def test_what_is_not_committed_does_not_count(loop: Loop) -> None:
    (loop.repository.folder / "other.py").write_text("VALUE = 3\n")
    assert SourceScope().answer(loop.evidence()).outcome == "pass"


@pytest.mark.parametrize("revision", ["nowhere", "--output=/tmp/x", "", "HEAD:app.py"])
def test_a_revision_that_is_none(loop: Loop, revision: str) -> None:
    with pytest.raises(InputError, match="--head"):
        SourceScope().answer(loop.evidence(head=revision))


def test_a_folder_that_is_no_repository(loop: Loop) -> None:
    for folder in (loop.golden, loop.before, loop.folder / "nowhere"):
        with pytest.raises(InputError, match="--repo"):
            SourceScope().answer(msgspec.structs.replace(loop.evidence(), repository=folder))


ALLOWED = ("app.py", "test_app.py", "tests/**", "conftest.py", "web/*.ts")


@pytest.mark.parametrize(
    ("new", "outcome", "what"),
    [
        (TEST + "\n\ndef test_more():\n    assert RULES\n", "pass", ""),
        (TEST.replace("test_prompt_holds_the_time", "test_renamed"), "pass", ""),
        (None, "fail", "the test test_prompt_holds_the_time is gone"),
        ("", "fail", "the test test_prompt_holds_the_time is gone"),
        (TEST.replace("def test_", "def check_"), "fail", "the test test_prompt_holds_the_time is gone"),
        (TEST.replace("\n\ndef", "\nimport pytest\n\n@pytest.mark.skip\ndef"), "fail", "is skipped"),
        (TEST.replace("\n\ndef", "\nimport pytest\n\n@pytest.mark.xfail(reason='x')\ndef"), "fail", "xfail"),
        (TEST.replace("RULES =", "pytestmark = pytest.mark.skip\nRULES ="), "fail", "pytestmark"),
        (
            TEST.replace('    text = prompt("12:00"', '    return\n    text = prompt("12:00"'),
            "fail",
            "return",
        ),
        (TEST.replace("    text =", '    pytest.skip("later")\n    text ='), "fail", "skip"),
        (TEST + "    x = (\n", "fail", "no Python"),
        (TEST.replace("RULES =", "__test__ = False\nRULES ="), "fail", "__test__ = False"),
        (TEST.replace('    assert "bookkeeper" in text\n', ""), "needs-approval", "'bookkeeper' in text"),
        (TEST.replace('assert "12:00" in text', "assert text"), "needs-approval", "'12:00' in text"),
        (TEST.replace('"12:00" in text', '"12:00" in text or True'), "needs-approval", "'12:00' in text"),
    ],
)
def test_a_test_that_checks_less_is_shown(loop: Loop, new: str | None, outcome: str, what: str) -> None:
    answered = answer(loop, {"test_app.py": new}, allowed_files=ALLOWED)
    assert answered.outcome == outcome
    assert what in said(answered)


CLASS = "class TestDesk:\n    def test_x(self):\n        assert 1 + 1 == 2\n"


@pytest.mark.parametrize(
    ("new", "outcome", "what"),
    [
        (CLASS.replace("TestDesk", "Desk"), "fail", "TestDesk.test_x is gone"),
        (CLASS.replace("TestDesk", "TestOffice"), "pass", ""),
        (CLASS.replace(":\n    def", ":\n    __test__ = False\n\n    def"), "fail", "__test__"),
        (
            CLASS.replace(":\n    def", ":\n    pytestmark = pytest.mark.skip\n\n    def"),
            "fail",
            "pytestmark",
        ),
    ],
)
def test_a_class_that_is_not_collected_any_more(loop: Loop, new: str, outcome: str, what: str) -> None:
    base = loop.repository.commit({"tests/test_x.py": CLASS})
    head = loop.repository.commit({"tests/test_x.py": new})
    task = a_task(loop.before, base, allowed_files=ALLOWED)
    answered = SourceScope().answer(loop.evidence(base=base, head=head, task=task))
    assert answered.outcome == outcome
    assert what in said(answered)


@pytest.mark.parametrize(
    ("name", "outcome"),
    [("tests/old_x.py", "fail"), ("tests/test_y.py", "pass"), ("tests/more/test_x.py", "pass")],
)
def test_a_test_file_that_is_not_found_any_more(loop: Loop, name: str, outcome: str) -> None:
    base = loop.repository.commit({"tests/test_x.py": CLASS})
    head = loop.repository.commit({"tests/test_x.py": None, name: CLASS})
    task = a_task(loop.before, base, allowed_files=ALLOWED)
    assert SourceScope().answer(loop.evidence(base=base, head=head, task=task)).outcome == outcome


def test_fewer_cases_of_a_test_are_shown(loop: Loop) -> None:
    cases = "import pytest\n\n\n@pytest.mark.parametrize('x', [1, 2, 3])\ndef test_x(x):\n    assert x\n"
    base = loop.repository.commit({"tests/test_x.py": cases})
    head = loop.repository.commit({"tests/test_x.py": cases.replace("2, ", "")})
    task = a_task(loop.before, base, allowed_files=ALLOWED)
    answered = SourceScope().answer(loop.evidence(base=base, head=head, task=task))
    assert (answered.outcome, "case 2" in said(answered)) == ("needs-approval", True)


def test_settings_of_tests_are_shown(loop: Loop) -> None:
    base = loop.repository.commit({"conftest.py": "x = 1\n"})
    head = loop.repository.commit({"conftest.py": "collect_ignore = ['test_app.py']\n"})
    task = a_task(loop.before, base, allowed_files=ALLOWED)
    answered = SourceScope().answer(loop.evidence(base=base, head=head, task=task))
    assert answered.outcome == "needs-approval"
    assert "can choose which tests run" in said(answered)


def test_other_languages_are_counted(loop: Loop) -> None:
    old = "it('a', () => { expect(1).toBe(1) })\nit('b', () => { expect(2).toBe(2) })\n"
    base = loop.repository.commit({"web/a.test.ts": old})
    task = a_task(loop.before, base, allowed_files=ALLOWED)
    for new, outcome in (
        (old.replace("it('b'", "it.skip('b'"), "fail"),
        (old.split("\n", 1)[0], "fail"),
        (old.replace("expect(2).toBe(2)", ""), "needs-approval"),
        (old + "it('c', () => { expect(3).toBe(3) })\n", "pass"),
    ):
        head = loop.repository.commit({"web/a.test.ts": new})
        answered = SourceScope().answer(loop.evidence(base=base, head=head, task=task))
        assert answered.outcome == outcome, new
        loop.repository.git("reset", "-q", "--hard", base)
