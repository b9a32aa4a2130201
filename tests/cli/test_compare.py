"""``keepwarm compare`` as a command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from keepwarm.evidence.verify import verify_folder
from tests.cli.replays import kept, run
from tests.cli.test_commands import one_line


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return kept(tmp_path_factory.mktemp("runs"))


def test_json_is_one_document_and_the_folder_has_it(runs: Path, tmp_path: Path) -> None:
    result = run("compare", runs / "before", runs / "after", "--json", "--out", tmp_path / "o")
    assert (result.exit_code, result.stderr) == (0, "")
    document = json.loads(result.stdout)
    assert document["schema"] == "keepwarm.comparison/1"
    assert document["hit_rate"]["before"]["value"] == 0 < document["hit_rate"]["after"]["value"]
    assert (tmp_path / "o" / "comparison.json").read_text() == result.stdout
    assert verify_folder(tmp_path / "o").mismatches == ()
    again = run("compare", runs / "before", runs / "after", "--json")
    assert again.stdout == result.stdout


def test_the_report_tells_figures_and_boundary(runs: Path) -> None:
    result = run("compare", runs / "before", runs / "after")
    assert (result.exit_code, result.stderr) == (0, "")
    for part in (
        "Measured hit rate 0.0% before",
        "before ÷ after",
        "residual +0.00 points",
        "held equal",
        "limit",
    ):
        assert part in result.stdout


def test_a_tokenizer_reaches_the_simulation(runs: Path) -> None:
    call = ("compare", runs / "before", runs / "after", "--json", "--tokenizer", "no-such-tokenizer-here")
    assert "no-such-tokenizer-here" in one_line(run(*call).stderr)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("before nowhere", "cannot read"),
        ("before before.jsonl", "cannot read"),
        ("before after --chat-template x.jinja", "says nothing without --tokenizer"),
        ("before after --seed -1", "--seed"),
        ("before", "AFTER"),
    ],
)
def test_a_wrong_call_is_one_line(
    runs: Path, arguments: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(runs)
    result = run("compare", *arguments.split())
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in one_line(result.stderr)


def test_a_place_that_is_taken(runs: Path) -> None:
    result = run("compare", runs / "before", runs / "after", "--out", runs / "before")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "holds files already" in one_line(result.stderr)
