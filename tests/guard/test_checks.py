"""What every check must do, whichever it is."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from keepwarm.guard.base import GuardCheck
from keepwarm.guard.checks import CHECKS
from tests.guard.building import Loop

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "verify-a-repair.md"


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
class TestEveryCheck:
    def test_is_named_and_documented(self, check: type[GuardCheck]) -> None:
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", check.name)
        module = check.__module__.rsplit(".", 1)[1]
        assert module == check.name.replace("-", "_"), "one check per file, named after it"
        assert check.__doc__ is not None
        first, _, rest = check.__doc__.partition("\n\n")
        assert first.endswith(".")
        assert len(rest.split()) > 30, "the class docstring is the documentation of the check"
        row = re.search(rf"^\| `{check.name}` \| (.+?) \|", PAGE.read_text(), re.MULTILINE)
        assert row is not None, f"{check.name} is not in the table of {PAGE.name}"

    def test_passes_a_good_repair(self, check: type[GuardCheck], loop: Loop) -> None:
        answer = check().answer(loop.evidence())
        assert (answer.check, answer.outcome, answer.problems) == (check.name, "pass", ())
        assert answer.looked_at

    def test_says_the_same_twice(self, check: type[GuardCheck], loop: Loop) -> None:
        first, second = (check().answer(loop.evidence()) for _ in range(2))
        assert first == second

    def test_missing_evidence_is_a_fail(self, check: type[GuardCheck], loop: Loop) -> None:
        for need in check.needs:
            answer = check().answer(msgspec.structs.replace(loop.evidence(), **{need: None}))
            assert answer.outcome == "fail"
            assert [problem.where for problem in answer.problems] == [f"--{need}"]
            assert answer.problems[0].next_step == f"give --{need}"

    def test_leaves_the_repository_alone(self, check: type[GuardCheck], loop: Loop) -> None:
        def state() -> tuple[str, ...]:
            git = loop.repository.git
            return git("status", "--porcelain"), git("worktree", "list"), git("for-each-ref")

        before = state()
        check().answer(loop.evidence())
        assert state() == before


def test_names_are_different() -> None:
    assert len({check.name for check in CHECKS}) == len(CHECKS)


def test_every_check_is_listed() -> None:
    folder = Path(__file__).parents[2] / "src" / "keepwarm" / "guard" / "checks"
    files = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    assert files == {check.__module__.rsplit(".", 1)[1] for check in CHECKS}
