"""``keepwarm evidence`` as a command."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

import pytest

from tests.cli.replays import kept, run
from tests.cli.test_commands import one_line


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return kept(tmp_path_factory.mktemp("runs"), requests=4)


def test_untouched_evidence_passes(runs: Path) -> None:
    result = run("evidence", "verify", runs / "before")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("as written: 3 files, chain digest ")
    document = json.loads(run("evidence", "verify", runs / "before", "--json").stdout)
    assert (document["schema"], document["as_written"]) == ("keepwarm.evidence-check/1", True)
    digest = document["chain_sha256"]
    assert run("evidence", "verify", runs / "before", "--digest", digest).exit_code == 0
    assert run("evidence", "verify", runs / "after", "--digest", digest).exit_code == 1


def test_every_mismatch_is_named_and_the_exit_code_is_1(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "before", tmp_path / "run")
    (tmp_path / "run" / "evidence.html").write_text("mine")
    (tmp_path / "run" / "requests.parquet").unlink()
    result = run("evidence", "verify", tmp_path / "run")
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        result.stdout.splitlines()[0],
        "requests.parquet: is missing",
    ]
    assert result.stdout.startswith("evidence.html: was changed: 4 bytes in place of ")
    assert "2 mismatches, the first: 'evidence.html'" in one_line(result.stderr)
    document = json.loads(run("evidence", "verify", tmp_path / "run", "--json").stdout)
    assert [each["name"] for each in document["mismatches"]] == ["evidence.html", "requests.parquet"]


def test_an_export_is_redacted(runs: Path, tmp_path: Path) -> None:
    result = run("evidence", "export", runs / "before", "--redacted", "--out", tmp_path / "e.zip", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    with zipfile.ZipFile(tmp_path / "e.zip") as archive:
        manifest = json.loads(archive.read("manifest.json"))
        document = json.loads(archive.read("run.json"))
    assert manifest["chain_sha256"] == json.loads(result.stdout)["chain_sha256"]
    assert document["input"]["path"] == "before.jsonl"
    assert document["server"]["base_url"] == "http://server"
    assert document["server"]["vllm"] == "0.32.0"
    assert run("evidence", "export", runs / "before", "--redacted", "--out", tmp_path / "e").exit_code == 0
    assert run("evidence", "verify", tmp_path / "e").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("verify nowhere", "cannot read 'nowhere'"),
        ("export before --out copy", "add --redacted"),
        ("export before --redacted", "--out"),
        ("export before --redacted --out after", "holds files already"),
        ("export nowhere --redacted --out copy", "cannot read 'nowhere'"),
    ],
)
def test_a_wrong_call_is_one_line(
    runs: Path, arguments: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(runs)
    result = run("evidence", *arguments.split())
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in one_line(result.stderr)
    assert not (runs / "copy").exists()
