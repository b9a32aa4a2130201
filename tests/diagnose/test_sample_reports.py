"""A sample is shown as one, judged by its estimate, and refused where exact figures are promised."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner, Result

from bench.sampled_diagnosis import write_planted
from keepwarm.api.jobs.recorded import recorded_of
from keepwarm.api.library.library import Library
from keepwarm.api.problems import Conflict
from keepwarm.cli.app import app

TOLD = ("a sample of 0.3 of the sessions", " ± ", "95% interval", "may be missed")


def keepwarm(*arguments: str | Path) -> Result:
    return CliRunner(env={"COLUMNS": "200", "NO_COLOR": "1"}).invoke(app, list(map(str, arguments)))


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sampled") / "trace.jsonl"
    write_planted(path, 60)
    return path


@pytest.fixture(scope="module")
def report(trace: Path) -> Path:
    folder = trace.parent / "served" / "report"
    result = keepwarm("diagnose", trace, "--sample", "0.3", "--out", folder)
    assert result.exit_code == 0, result.output
    shown = " ".join(result.stdout.split())  # on lines of any width
    assert all(words in shown for words in TOLD)
    return folder


def test_the_page_and_the_document_say_how_far_figures_may_be_off(report: Path) -> None:
    page = (report / "report.html").read_text()
    assert all(words in page for words in (" ± ", "95% interval", "may be missed"))
    sample = msgspec.json.decode((report / "diagnosis.json").read_bytes())["sample"]
    assert sample["rate"] == 0.3
    assert sample["hit_rate_error"] > 0
    assert sample["finding_errors"][0]["recoverable_tokens"] > 0


def test_a_request_is_explained_within_its_sample(trace: Path, report: Path) -> None:
    document = msgspec.json.decode((report / "diagnosis.json").read_bytes())
    request = document["findings"][0]["evidence"]["request"]
    assert keepwarm("explain", trace, request, "--sample", "0.3").exit_code == 0


@pytest.mark.parametrize(("gate", "code", "unsure"), [("0.001", 0, False), ("0.999", 1, False)])
def test_a_gate_far_from_the_estimate_is_told_plainly(
    trace: Path, gate: str, code: int, unsure: bool
) -> None:
    result = keepwarm("diagnose", trace, "--sample", "0.3", "--fail-under", gate)
    assert result.exit_code == code
    assert ("spans the gate" in result.stderr) is unsure


def test_a_gate_within_the_error_is_judged_by_the_estimate_and_says_so(trace: Path, report: Path) -> None:
    rate = msgspec.json.decode((report / "diagnosis.json").read_bytes())["hit_rate"]
    for gate, code in ((rate - 0.002, 0), (rate + 0.002, 1)):
        result = keepwarm("diagnose", trace, "--sample", "0.3", "--fail-under", gate)
        assert result.exit_code == code
        assert "the interval spans the gate: a larger --sample would tell" in result.stderr


def test_a_task_is_not_made_of_a_sample(report: Path, tmp_path: Path) -> None:
    result = keepwarm(
        "task", "export", "F1", "--diagnosis", report / "diagnosis.json", "--repo", tmp_path, "--json"
    )
    assert result.exit_code == 2
    assert "is of a sample, and a task is held to exact figures" in result.stderr


def test_the_dashboard_does_not_simulate_a_sample_again(report: Path) -> None:
    library = Library(report.parent, revealed=False)
    (item,) = [item for item in library.items() if item.kind == "diagnosis"]
    with pytest.raises(Conflict, match="of a sample"):
        recorded_of(library.find(item.id, "diagnosis"))


@pytest.mark.parametrize("rate", ["0", "2", "nan"])
def test_a_bad_rate_is_one_line(trace: Path, rate: str) -> None:
    result = keepwarm("diagnose", trace, "--sample", rate)
    assert result.exit_code == 2
    assert "write 0.01 for 1% of the sessions" in result.stderr
