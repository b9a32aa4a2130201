from __future__ import annotations

import html.parser
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from keepwarm._errors import InputError
from keepwarm._json import to_json
from keepwarm.guard.base import Evidence
from keepwarm.guard.report.files import write_verdict
from keepwarm.guard.report.terminal import render_verdict
from keepwarm.guard.verdict import Verdict, digest_holds, verdict_document
from keepwarm.guard.verify import read_task, verify
from tests.guard.building import (
    PASSAGES,
    REPAIRED_APP,
    Loop,
    Record,
    edited,
    golden_case,
    replaced,
    system_after,
    traffic,
    write_golden,
)

AFTER = traffic(system_after)
EVIL = "</h2><script>alert(1)</script>\u202e\x1b[31m{{ 7*7 }}"


def judged(loop: Loop, evidence: Evidence | None = None, approvals: Any = None) -> Verdict:
    task = loop.folder / "task.json"
    task.write_bytes(msgspec.json.encode((evidence or loop.evidence()).task))
    file = None
    if approvals is not None:
        file = loop.folder / "approvals.json"
        file.write_text(json.dumps({"schema": "keepwarm.approvals/1", "approvals": approvals}))
    return verify(evidence or loop.evidence(), task, file)


def outcomes(verdict: Verdict) -> dict[str, str]:
    return {answer.check: answer.outcome for answer in verdict.answers}


def refusing(verdict: Verdict) -> set[str]:
    return {check for check, outcome in outcomes(verdict).items() if outcome != "pass"}


def test_the_good_repair_passes(loop: Loop) -> None:
    verdict = judged(loop)
    assert verdict.outcome == "pass"
    assert refusing(verdict) == set()


def drop_commitment(body: Record) -> None:
    replaced("The customer's written consent counts as authorization for 30 days.", "")(body)


def drop_passage(body: Record) -> None:
    content = body["messages"][0]["content"]
    body["messages"][0]["content"] = content.replace(next(p for p in PASSAGES if p in content), "")


def user_into_system(body: Record) -> None:
    system, user = body["messages"]
    system["content"] += "\n" + user["content"]
    user["content"] = "See above."


@pytest.mark.parametrize("edit", [drop_commitment, drop_passage, user_into_system])
def test_a_bad_repair_of_the_text_is_rejected_by_the_check_for_it(
    loop: Loop, edit: Callable[[Record], None]
) -> None:
    verdict = judged(loop, loop.with_after(edited(AFTER, edit)))
    assert verdict.outcome == "fail"
    assert outcomes(verdict)["content-preserved"] == "fail"
    assert refusing(verdict) <= {"content-preserved", "reuse-target"}


def test_a_bad_repair_out_of_scope_is_rejected_by_the_check_for_it(loop: Loop) -> None:
    head = loop.repository.commit({"app.py": REPAIRED_APP, "other.py": "VALUE = 2\n"})
    verdict = judged(loop, loop.evidence(head=head))
    assert (verdict.outcome, refusing(verdict)) == ("fail", {"source-scope"})


def test_the_same_evidence_gives_the_same_bytes(loop: Loop, tmp_path: Path) -> None:
    written = [write_verdict(judged(loop), tmp_path / name) for name in ("one", "two")]
    for kind in ("json", "html"):
        first, second = (getattr(item, kind).read_bytes() for item in written)
        assert first == second


def test_the_same_bytes_in_any_process(loop: Loop) -> None:
    def spoil(body: Record) -> None:
        drop_commitment(body)
        user_into_system(body)
        body["tools"].reverse()

    evidence = loop.with_after(edited(AFTER, spoil))
    (loop.folder / "task.json").write_bytes(msgspec.json.encode(loop.task))
    program = (
        "import sys; from pathlib import Path; from keepwarm._json import to_json;"
        "from keepwarm.guard.base import Evidence; from keepwarm.guard.verdict import verdict_document;"
        "from keepwarm.guard.verify import read_task, verify;"
        "repo, base, head, before, after, task = sys.argv[1:]; task = Path(task);"
        "evidence = Evidence(repository=Path(repo), base=base, head=head, task=read_task(task),"
        " before=Path(before), after=Path(after), golden=None, tests=None);"
        "sys.stdout.buffer.write(to_json(verdict_document(verify(evidence, task, None))))"
    )
    given = [evidence.repository, evidence.base, evidence.head, evidence.before, evidence.after]
    command = [sys.executable, "-c", program, *map(str, given), str(loop.folder / "task.json")]
    first, second = (
        subprocess.run(command, env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, check=True)
        for seed in ("1", "2")
    )
    assert first.stdout == second.stdout
    assert b"moved from the user role" in first.stdout


def test_what_tests_print_is_kept_but_not_in_the_verdict(loop: Loop, tmp_path: Path) -> None:
    evidence = loop.evidence(tests="python -c \"import time; print('took', time.time_ns())\"")
    first, second = (judged(loop, evidence) for _ in range(2))
    assert to_json(verdict_document(first)) == to_json(verdict_document(second))
    write_verdict(first, tmp_path / "out")
    assert (tmp_path / "out" / "project-tests.txt").read_text().startswith("took ")


def test_the_digest_covers_every_field(loop: Loop) -> None:
    document = json.loads(to_json(verdict_document(judged(loop))))
    assert digest_holds(document)
    for name in document:
        changed = document | {name: "other"}
        assert not digest_holds(changed), name
        assert not digest_holds({key: value for key, value in document.items() if key != name}), name
    document["answers"][0]["looked_at"] += " "
    assert not digest_holds(document)


def test_inputs_are_named_by_their_sha256(loop: Loop) -> None:
    first = judged(loop).inputs
    assert first.before is not None
    assert first.before.sha256 == loop.task.trace_sha256
    assert first.golden is not None
    assert [file.name for file in first.golden] == ["00.json", "01.json"]
    assert str(loop.folder) not in to_json(verdict_document(judged(loop))).decode()


def test_without_any_evidence_everything_that_needs_it_fails(loop: Loop) -> None:
    verdict = judged(loop, loop.evidence(before=None, after=None, golden=None, tests=None))
    assert refusing(verdict) == {
        "content-preserved",
        "tools-and-roles",
        "reuse-target",
        "project-tests",
        "golden-cases",
    }
    assert {answer.outcome for answer in verdict.answers} == {"pass", "fail"}


def changed_answer(loop: Loop, content: str = "Refund of C-1 is approved!") -> Evidence:
    after = [{"content": content, "tool_calls": []}]
    return loop.evidence(golden=write_golden(loop.folder / "changed", golden_case("C-1", after=after)))


def approval(verdict: Verdict, **changes: str) -> dict[str, str]:
    answer = next(answer for answer in verdict.answers if answer.outcome == "needs-approval")
    problem = answer.problems[0]
    entry = {
        "check": answer.check,
        "case": problem.where,
        "sha256": problem.approvable_sha256 or "",
        "approver": "R. Okafor",
        "reason": "the same, with an exclamation mark",
    }
    return entry | changes


def test_a_changed_answer_passes_with_an_approval_of_that_very_answer(loop: Loop) -> None:
    waiting = judged(loop, changed_answer(loop))
    assert (waiting.outcome, refusing(waiting)) == ("needs-approval", {"golden-cases"})
    entry = approval(waiting)
    passed = judged(loop, changed_answer(loop), [entry])
    assert passed.outcome == "pass"
    assert [used.approver for used in passed.approvals_used] == ["R. Okafor"]
    assert passed.approvals_unused == ()


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"sha256": "0" * 64}, "stale"),
        ({"case": "C-2"}, "unused"),
        ({"check": "source-scope"}, "unused"),
    ],
)
def test_an_approval_of_something_else_helps_nothing(loop: Loop, changes: dict[str, str], why: str) -> None:
    entry = approval(judged(loop, changed_answer(loop)), **changes)
    verdict = judged(loop, changed_answer(loop), [entry])
    assert verdict.outcome == "needs-approval"
    assert verdict.approvals_used == ()
    assert [item.why for item in verdict.approvals_unused] == [why]
    shown = render_verdict(verdict, width=100, colour=False, digest="d")
    assert f"{why}, helps nothing" in shown


def test_an_approval_goes_stale_when_the_answer_changes_again(loop: Loop) -> None:
    entry = approval(judged(loop, changed_answer(loop)))
    verdict = judged(loop, changed_answer(loop, "Refund of C-1 is approved?"), [entry])
    assert verdict.outcome == "needs-approval"
    assert [item.why for item in verdict.approvals_unused] == ["stale"]


def test_what_cannot_be_approved_is_not(loop: Loop) -> None:
    entry = approval(judged(loop, changed_answer(loop)))
    denied = changed_answer(loop, "Refund of C-1 is denied.")
    verdict = judged(loop, denied, [entry | {"sha256": approval_sha(judged(loop, denied))}])
    assert outcomes(verdict)["golden-cases"] == "fail"


def approval_sha(verdict: Verdict) -> str:
    return next(
        problem.approvable_sha256
        for answer in verdict.answers
        for problem in answer.problems
        if problem.approvable_sha256
    )


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"check": "golden"}, "there is no check 'golden'"),
        ({"sha256": "ABC"}, "not 64 lower-case hex digits"),
        ({"approver": " "}, "approver is empty"),
        ({"reason": ""}, "reason is empty"),
        ({"case": ""}, "case is empty"),
        ({"until": "tomorrow"}, "until"),
        ({"sha256": 3}, "sha256"),
    ],
)
def test_an_approval_is_never_guessed(loop: Loop, entry: dict[str, Any], says: str) -> None:
    good = {"check": "golden-cases", "case": "C", "sha256": "0" * 64, "approver": "A", "reason": "B"}
    with pytest.raises(InputError, match="approvals") as error:
        judged(loop, approvals=[good | entry])
    assert says in str(error.value)


def test_the_same_approval_twice_is_refused(loop: Loop) -> None:
    good = {"check": "golden-cases", "case": "C", "sha256": "0" * 64, "approver": "A", "reason": "B"}
    with pytest.raises(InputError, match="entry 2: says the same"):
        judged(loop, approvals=[good, good | {"approver": "C"}])


@pytest.mark.parametrize("content", ["", "{}", '{"schema": "keepwarm.task/1"}', "null", "\x00"])
def test_a_task_that_is_none(loop: Loop, content: str) -> None:
    file = loop.folder / "task.json"
    file.write_text(content)
    with pytest.raises(InputError, match=r"task\.json"):
        read_task(file)


class Page(html.parser.HTMLParser):
    """Collects what a page could load or run."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]


def test_the_page_loads_and_runs_nothing(loop: Loop, tmp_path: Path) -> None:
    case = golden_case(EVIL, after=[{"content": EVIL}], about=EVIL, request=None)
    evidence = loop.evidence(golden=write_golden(loop.folder / "evil", case), reveal=True)
    written = write_verdict(judged(loop, evidence), tmp_path / "out")
    text = written.html.read_text()
    page = Page()
    page.feed(text)
    assert "script" not in page.tags
    assert all(link.startswith("#") for link in page.links)
    assert "default-src 'none'" in text
    assert "\u202e" not in text
    assert "\x1b" not in text
    assert "49" not in text.split("<main>")[1].split("setup")[0]


def test_the_terminal_shows_where_what_and_next(loop: Loop) -> None:
    verdict = judged(loop, loop.with_after(edited(AFTER, drop_commitment)))
    shown = render_verdict(verdict, width=100, colour=False, digest="d1")
    assert shown.startswith("fail: This repair must not be merged.")
    words = " ".join(shown.split())
    assert "content-preserved: fail" in words
    assert "authorization for 30 days.” is lost from the system text" in words
    assert "next: put it back" in words
    assert "verdict d1" in words


def test_nothing_recorded_is_shown_unless_asked_for(loop: Loop, tmp_path: Path) -> None:
    def spoil(body: Record) -> None:
        body["messages"][1]["content"] = "Contact me at jane.roe@example.org, key sk-abcdefghijklmnop1234."

    evidence = loop.with_after(edited(AFTER, spoil, only=2))
    written = write_verdict(judged(loop, evidence), tmp_path / "out")
    everything = written.html.read_text() + written.json.read_text()
    for secret in ("jane.roe", "abcdefghijklmnop", "Customer 2"):
        assert secret not in everything
    shown = judged(loop, msgspec.structs.replace(evidence, reveal=True))
    assert shown.values_revealed
    assert "jane.roe" in to_json(verdict_document(shown)).decode()


def test_the_documented_approval_is_one(loop: Loop, repository: Path) -> None:
    page = (repository / "docs" / "how-to" / "verify-a-repair.md").read_text()
    sample = re.search(r"```json\n(\{\n.+?)```", page, re.DOTALL)
    assert sample is not None
    entry = json.loads(sample[1].replace("9b0f…", "9b0f" * 16))["approvals"][0]
    assert [item.approval.case for item in judged(loop, approvals=[entry]).approvals_unused] == [
        entry["case"]
    ]
