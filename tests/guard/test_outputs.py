"""Changed outputs side by side: which, how they are shown, and that they lie beside the verdict."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keepwarm.guard.approvals import Approval
from keepwarm.guard.checks.golden_cases import GoldenCases
from keepwarm.guard.golden import Output, output_sha256
from keepwarm.guard.outputs import ChangedOutputs, OutputText, changed_outputs
from keepwarm.guard.report.files import write_verdict
from keepwarm.guard.verify import verify
from tests.guard.building import Loop, golden_case, write_golden

CALL = {"name": "refund", "arguments": {"number": "INV-1", "to": "jane.roe@example.org"}}
SAID = {"content": "approved for jane.roe@example.org", "tool_calls": [CALL]}


def outputs(loop: Loop, *cases: dict[str, Any], reveal: bool = False) -> ChangedOutputs:
    golden = write_golden(loop.folder / "cases", *cases)
    return changed_outputs(loop.evidence(golden=golden, reveal=reveal))


def test_only_answers_that_no_run_of_before_gave_are_listed(loop: Loop) -> None:
    before = [{"content": "approved", "tool_calls": []}, {"content": "approved!", "tool_calls": []}]
    other = {"content": "it is approved", "tool_calls": []}
    case = golden_case("C", about="a refund", before=before, after=[before[1], other, other])
    (changed,) = outputs(loop, case, golden_case("D")).outputs
    assert (changed.check, changed.case, changed.about) == ("golden-cases", "C", "a refund")
    assert changed.sha256 == output_sha256(Output(content="it is approved"))
    assert changed.before == (OutputText(text="approved"), OutputText(text="approved!"))
    assert changed.after == OutputText(text="it is approved")


def test_each_is_what_the_check_wants_approved(loop: Loop) -> None:
    cases = [golden_case(name, after=[{"content": f"approved {name}"}]) for name in "ABC"]
    evidence = loop.evidence(golden=write_golden(loop.folder / "cases", *cases))
    wanted = [(p.where, p.approvable_sha256) for p in GoldenCases().answer(evidence).problems]
    assert [(output.case, output.sha256) for output in changed_outputs(evidence).outputs] == wanted


def test_secrets_and_personal_data_are_covered_unless_revealed(loop: Loop) -> None:
    case = golden_case("C", about="asked by jane.roe@example.org", after=[SAID])
    covered = outputs(loop, case)
    assert not covered.values_revealed
    assert "jane.roe" not in msgspec.json.encode(covered).decode()
    assert covered.outputs[0].after.tool_calls[0].startswith("refund(")
    revealed = outputs(loop, case, reveal=True)
    assert revealed.values_revealed
    assert revealed.outputs[0].after == OutputText(
        text=SAID["content"],  # type: ignore[arg-type]
        tool_calls=('refund({"number": "INV-1", "to": "jane.roe@example.org"})',),
    )


def test_long_answers_are_kept_whole(loop: Loop) -> None:
    long = "approved and done. " * 20_000
    (changed,) = outputs(loop, golden_case("C", after=[{"content": long}]), reveal=True).outputs
    assert changed.after.text == long


def test_without_cases_there_is_nothing_to_show(loop: Loop) -> None:
    assert changed_outputs(loop.evidence(golden=None)) == ChangedOutputs()


def written(loop: Loop, folder: Path, approvals: Path | None = None) -> dict[str, Any]:
    (loop.folder / "task.json").write_bytes(msgspec.json.encode(loop.task))
    evidence = loop.evidence()
    verdict = verify(evidence, loop.folder / "task.json", approvals)
    document: dict[str, Any] = json.loads(
        write_verdict(verdict, folder, changed_outputs(evidence)).outputs.read_bytes()
    )
    return document


def test_they_lie_beside_the_verdict_before_and_after_an_approval(loop: Loop, tmp_path: Path) -> None:
    write_golden(loop.golden, golden_case("C", after=[{"content": "approved, gladly"}]))
    first = written(loop, tmp_path / "one")
    assert first["schema"] == "keepwarm.outputs/1"
    (output,) = first["outputs"]
    approval = Approval(
        check=output["check"],
        case=output["case"],
        sha256=output["sha256"],
        approver="R. Okafor",
        reason="fine",
    )
    file = loop.folder / "approvals.json"
    file.write_bytes(
        msgspec.json.encode({"schema": "keepwarm.approvals/1", "approvals": [msgspec.to_builtins(approval)]})
    )
    assert written(loop, tmp_path / "two", file) == first
    document = json.loads((tmp_path / "two" / "verdict.json").read_bytes())
    assert len(document["approvals_used"]) == 1


def test_a_verdict_without_changes_replaces_what_lay_there(loop: Loop, tmp_path: Path) -> None:
    case = golden_case("C", after=[{"content": "approved, gladly"}])
    write_golden(loop.golden, case)
    assert written(loop, tmp_path / "out")["outputs"]
    write_golden(loop.golden, case | {"after": case["before"]})
    assert written(loop, tmp_path / "out")["outputs"] == []


@pytest.mark.parametrize("content", ["<script>x</script>", "a\u202eb", "\ud800", "🙂" * 3])
def test_hostile_text_is_kept_and_is_json(loop: Loop, tmp_path: Path, content: str) -> None:
    write_golden(loop.golden, golden_case("C", after=[{"content": f"approved {content}"}]))
    document = written(loop, tmp_path / "out")
    assert document["outputs"][0]["after"]["text"].startswith("approved ")
    assert "\u202e" not in (tmp_path / "out" / "outputs.json").read_text("utf-8")


@given(st.lists(st.sampled_from(["a", "b", "c", "d"]), min_size=2, max_size=5), st.data())
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_listed_is_after_less_before(loop: Loop, before: list[str], data: st.DataObject) -> None:
    after = data.draw(st.lists(st.sampled_from(["a", "b", "c", "d", "e"]), min_size=1, max_size=5))
    case = golden_case("C", before=[{"content": t} for t in before], after=[{"content": t} for t in after])
    found = outputs(loop, case).outputs
    assert [output.after.text for output in found] == [t for t in dict.fromkeys(after) if t not in before]
    assert all([b.text for b in output.before] == list(dict.fromkeys(before)) for output in found)
