from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, get_args

import pytest

from keepwarm._errors import InputError
from keepwarm.guard.base import Answer
from keepwarm.guard.checks.golden_cases import GoldenCases
from keepwarm.guard.golden import Assertion, Output, ToolCall, output_sha256
from tests.guard.building import Loop, golden_case, write_golden


def answer(loop: Loop, *cases: dict[str, Any]) -> Answer:
    return GoldenCases().answer(loop.evidence(golden=write_golden(loop.folder / "cases", *cases)))


def text(content: str | None, *calls: dict[str, Any]) -> dict[str, Any]:
    return {"content": content, "tool_calls": list(calls)}


CALL = {"name": "refund", "arguments": {"number": "INV-1", "reason": "double-charge"}}
TURNED = {"name": "refund", "arguments": '{"reason": "double-charge", "number": "INV-1"}'}


def test_a_changed_answer_is_never_passed(loop: Loop) -> None:
    answered = answer(loop, golden_case("C", after=[text("Refund of C is approved!")]))
    assert answered.outcome == "needs-approval"
    problem = answered.problems[0]
    assert problem.where == "C"
    assert problem.approvable_sha256 == output_sha256(Output(content="Refund of C is approved!"))
    assert "outside the noise floor" in problem.what


def test_noise_is_said_and_is_no_excuse(loop: Loop) -> None:
    before = [text("approved, at once"), text("it is approved and will be done")]
    answered = answer(loop, golden_case("C", before=before, after=[text("approved, at once.")]))
    assert answered.outcome == "needs-approval"
    assert "within the noise floor" in answered.problems[0].what
    assert answer(loop, golden_case("C", before=before, after=[before[1]])).outcome == "pass"


def test_every_run_of_after_counts(loop: Loop) -> None:
    case = golden_case("C")
    answered = answer(loop, case | {"after": [case["before"][0], text("approved?")]})
    assert answered.outcome == "needs-approval"


def test_tool_calls_are_equal_whatever_the_order_of_keys(loop: Loop) -> None:
    assertions = [{"kind": "tool-call", **CALL}]
    case = golden_case("C", before=[text(None, CALL)] * 2, after=[text("", TURNED)], assertions=assertions)
    assert answer(loop, case).outcome == "pass"
    other = {"name": "refund", "arguments": {"number": "INV-2", "reason": "double-charge"}}
    assert answer(loop, case | {"after": [text(None, other)]}).outcome == "fail"
    assert answer(loop, case | {"after": [text(None, CALL, CALL)]}).outcome == "needs-approval"


@pytest.mark.parametrize(
    ("assertion", "good", "bad"),
    [
        ({"kind": "contains", "text": "consent"}, "with consent", "without"),
        ({"kind": "not-contains", "text": "promise"}, "no date", "I promise"),
        ({"kind": "json-field", "path": "desk", "equals": "day"}, '{"desk": "day"}', '{"desk": "on-call"}'),
        ({"kind": "json-field", "path": "a.1.b", "equals": 2}, '{"a": [0, {"b": 2}]}', '{"a": [0]}'),
        ({"kind": "json-field", "path": "a", "equals": 1}, '{"a": 1}', '{"a": true}'),
        ({"kind": "json-field", "path": "a", "equals": None}, '{"a": null}', "{}"),
        ({"kind": "json-field", "path": "a", "equals": 1}, '{"a": 1}', "a: 1"),
    ],
)
def test_an_assertion_that_after_breaks_fails(loop: Loop, assertion: Any, good: str, bad: str) -> None:
    case = golden_case("C", before=[text(good)] * 2, after=[text(good)], assertions=[assertion])
    assert answer(loop, case).outcome == "pass"
    answered = answer(loop, case | {"after": [text(bad)]})
    assert answered.outcome == "fail"
    assert "is not true of AFTER" in answered.problems[0].what
    wrong = answer(loop, case | {"before": [text(good), text(bad)]})
    assert "is not true of BEFORE either" in wrong.problems[0].what


def test_a_tool_call_where_there_must_be_none(loop: Loop) -> None:
    assertions = [{"kind": "no-tool-call"}]
    case = golden_case("C", assertions=assertions)
    assert answer(loop, case).outcome == "pass"
    assert answer(loop, case | {"after": [text("x", CALL)]}).outcome == "fail"


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"before": [text("approved")]}, "has 1 run of BEFORE, not two"),
        ({"before": []}, "has 0 runs of BEFORE"),
        ({"after": []}, "has no run of AFTER"),
        ({"assertions": []}, "asserts nothing"),
        ({"request": "r-999"}, "its request 'r-999' is not in both traces"),
    ],
)
def test_what_is_missing_in_a_case_fails(loop: Loop, changes: dict[str, Any], what: str) -> None:
    answered = answer(loop, golden_case("C", **changes))
    assert answered.outcome == "fail"
    assert what in "\n".join(problem.what for problem in answered.problems)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "no JSON"),
        ("[]", "schema None"),
        (json.dumps(golden_case("C") | {"schema": "keepwarm.golden/2"}), "keepwarm.golden/2"),
        (json.dumps(golden_case("C") | {"asserts": []}), "asserts"),
        (json.dumps(golden_case("C") | {"after": [{"text": "x"}]}), "text"),
        (json.dumps(golden_case("C") | {"assertions": [{"kind": "is-nice"}]}), "is-nice"),
        (json.dumps(golden_case(" ")), "has no name"),
        (json.dumps(golden_case("C-1")), "are both 'C-1'"),
        ('{"schema": "keepwarm.golden/1", "case": "A", "case": "B"}', "twice"),
        ("[" * 100_000, "no JSON"),
    ],
)
def test_a_case_that_cannot_be_read(loop: Loop, content: str, says: str) -> None:
    (loop.golden / "99.json").write_text(content)
    with pytest.raises(InputError, match="golden") as error:
        GoldenCases().answer(loop.evidence())
    assert says in str(error.value)


def test_a_folder_without_cases(loop: Loop) -> None:
    for folder in (loop.repository.folder, loop.before, loop.folder / "nowhere"):
        with pytest.raises(InputError, match="--golden"):
            GoldenCases().answer(loop.evidence(golden=folder))


def test_arguments_that_are_no_json_are_compared_as_text() -> None:
    first, second = (Output(tool_calls=(ToolCall(name="x", arguments=a),)) for a in ("{a", "{a "))
    assert output_sha256(first) != output_sha256(second)


def test_the_documented_case_is_one(loop: Loop, repository: Path) -> None:
    page = (repository / "docs" / "reference" / "golden-cases.md").read_text()
    sample = re.search(r"```json\n(.+?)```", page, re.DOTALL)
    assert sample is not None
    answered = answer(loop, json.loads(sample[1]) | {"request": "r-000"})
    assert answered.outcome == "pass"
    documented = set(re.findall(r"^\| `([a-z-]+)` \|.*\|.*\|$", page, re.MULTILINE))
    assert documented == {kind.__struct_config__.tag for kind in get_args(Assertion)}
