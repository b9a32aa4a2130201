from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from keepwarm.cli import task
from keepwarm.cli.boundary import Boundary
from tests.cli.test_commands import one_line
from tests.repair.checkouts import checkout

SYSTEM = "You are the duty clerk of Brightwater Quarry. {rules}"
RULES = " ".join(
    f"Rule {n}: answer the question about gravel number {n} in two sentences." for n in range(40)
)
PEOPLE = ("Marisol Quenneville", "Thaddeus Brockwell", "Oddný Hrafnsdóttir", "Ines van Aalst")

Export = Callable[..., Result]


@pytest.fixture
def export() -> Export:
    """Runs ``keepwarm task export`` in this process."""
    app = typer.Typer(cls=Boundary, pretty_exceptions_enable=False, add_completion=False)
    app.add_typer(task.app, name="task")

    @app.command("other", hidden=True)
    def _other() -> None:
        """A second command, so that the first keeps its name."""

    def run(*arguments: str) -> Result:
        return CliRunner(env={"COLUMNS": None, "NO_COLOR": None}).invoke(app, ["task", "export", *arguments])

    return run


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """The name of who asks stands in front of what all of them share."""
    lines = []
    for n in range(24):
        person = PEOPLE[n // 2 % len(PEOPLE)]
        messages = [
            {
                "role": "system",
                "content": f"You are the duty clerk of Brightwater Quarry, for {person}.\n{RULES}",
            },
            {"role": "user", "content": f"How much gravel fits in cart {n}?"},
        ]
        body = {"model": "m", "messages": messages}
        lines.append(
            json.dumps({"id": f"r{n}", "timestamp": 1e9 + n, "session_id": f"s{n // 2}", "body": body})
        )
    path = tmp_path / "trace.jsonl"
    path.write_text("\n".join(lines))
    return path


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    source = (
        "def system(person, rules):\n"
        '    return f"You are the duty clerk of Brightwater Quarry, for {person}.\\n{rules}"\n'
    )
    return checkout(tmp_path / "repo", {"app/prompts.py": source, "app/rules.txt": RULES})


def test_two_files_that_name_the_place(export: Export, trace: Path, repo: Path, tmp_path: Path) -> None:
    out = tmp_path / "task.md"
    result = export("F1", "--trace", str(trace), "--repo", str(repo), "--out", str(out))
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.split() == [str(out), str(tmp_path / "task.json")]
    document = json.loads((tmp_path / "task.json").read_text())
    assert document["schema"] == "keepwarm.task/1"
    assert document["finding"]["cause"] == "identity"
    assert (document["locations"][0]["file"], document["locations"][0]["first_line"]) == ("app/prompts.py", 2)
    assert "app/prompts.py" in document["allowed_files"]
    page = out.read_text()
    assert not [
        person for person in PEOPLE if person in page or person in json.dumps(document, ensure_ascii=False)
    ]
    assert "Brightwater Quarry" in page


def test_json_is_the_document_and_nothing_else(
    export: Export, trace: Path, repo: Path, tmp_path: Path
) -> None:
    out = tmp_path / "task.md"
    result = export("F1", "--trace", str(trace), "--repo", str(repo), "--out", str(out), "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == (tmp_path / "task.json").read_text()
    alone = export("f1", "--trace", str(trace), "--repo", str(repo), "--json")
    assert alone.stdout == result.stdout


def test_a_saved_diagnosis_names_trace_and_cache(
    export: Export, trace: Path, repo: Path, tmp_path: Path
) -> None:
    from keepwarm._json import to_json
    from keepwarm.diagnose import Options, diagnose
    from keepwarm.diagnose.report.as_json import diagnosis_document
    from keepwarm.diagnose.report.mask import masked

    saved = tmp_path / "diagnosis.json"
    shown = masked(diagnose(str(trace), Options(block_size=32)))
    saved.write_bytes(to_json(diagnosis_document(shown, revealed=False)))
    result = export("F1", "--diagnosis", str(saved), "--repo", str(repo), "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    by_hand = export("F1", "--trace", str(trace), "--block-size", "32", "--repo", str(repo), "--json")
    assert result.stdout == by_hand.stdout
    trace.write_text(trace.read_text().replace("gravel", "sand"))
    changed = export("F1", "--diagnosis", str(saved), "--repo", str(repo), "--json")
    assert changed.exit_code == 2
    assert "not the trace of the saved diagnosis" in one_line(changed.stderr)


def test_options_reach_the_task(export: Export, trace: Path, repo: Path) -> None:
    result = export(
        *("F1", "--trace", str(trace), "--repo", str(repo), "--json", "--allow", "app/*.txt"),
        *("--declare", "added:You are asked by=the name needs a sentence", "--capacity-blocks", "4000"),
    )
    document = json.loads(result.stdout)
    assert document["allowed_files"][-1] == "app/*.txt"
    assert document["declared"][-1] == {
        "kind": "added",
        "text": "You are asked by",
        "reason": "the name needs a sentence",
    }


def test_nothing_located_is_said(export: Export, trace: Path, tmp_path: Path) -> None:
    repo = checkout(tmp_path / "bare", {"a.py": "print(1)\n"})
    result = export("F1", "--trace", str(trace), "--repo", str(repo), "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["not_located"]
    assert "--allow" in result.stderr


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"FINDING": "F9"}, "no finding 'F9'"),
        ({"--trace": "nowhere.jsonl"}, "nowhere.jsonl"),
        ({"--trace": None}, "--trace"),
        ({"--repo": "nowhere"}, "--repo 'nowhere'"),
        ({"--out": None}, "--out"),
        ({"--out": "nowhere/task.md"}, "nowhere"),
        ({"--out": "task.json"}, "Markdown"),
        ({"--allow": "/etc"}, "--allow"),
        ({"--declare": "anything"}, "--declare"),
        ({"--diagnosis": "nowhere.json"}, "--diagnosis"),
        ({"--tokenizer": "./nowhere"}, "nowhere"),
    ],
)
def test_bad_calls_say_one_line_and_write_nothing(
    change: dict[str, str | None], said: str, export: Export, trace: Path, repo: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    call = {
        "FINDING": "F1",
        "--trace": str(trace),
        "--repo": str(repo),
        "--out": str(folder / "task.md"),
        **change,
    }
    words = [
        word
        for key, value in call.items()
        if value is not None
        for word in ([key] if key[0] == "-" else []) + [value]
    ]
    result = export(*words)
    assert result.exit_code == 2
    assert said in one_line(result.stderr)
    assert list(folder.iterdir()) == []
    assert result.stdout == ""
