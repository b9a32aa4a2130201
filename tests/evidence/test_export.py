"""A redacted copy holds nothing private, is evidence of its own, and has stable bytes."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from pathlib import Path
from typing import Any

import httpx2
import pytest

from keepwarm._errors import InputError
from keepwarm.evidence.export import export_redacted
from keepwarm.evidence.folder import read_folder, write_folder
from keepwarm.evidence.redact import Redaction
from keepwarm.evidence.verify import verify_folder
from keepwarm.replay.comparing import compare_runs
from keepwarm.replay.comparing.files import KIND as COMPARISON
from keepwarm.replay.comparing.files import keep_comparison
from keepwarm.replay.measuring import ReplayOptions, replay_trace
from keepwarm.replay.measuring.files import KIND as RUN
from keepwarm.replay.measuring.files import read_run
from tests.replay import traces
from tests.replay.fake_server import ReplayVllm

KINDS = (RUN, COMPARISON)
SECRETS = ("ada.lovelace@example.org", "sk-live-4f9a7c1e2b8d6035", "customer-4711", "acme-gpu-7", "wiretap")
_SECRET = re.compile("|".join(map(re.escape, SECRETS[:2])))


def redact(text: str) -> str:
    """Stands in for the redactor: knows two of the secrets."""
    return _SECRET.sub("<secret>", text)


@pytest.fixture(scope="module")
def private(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Evidence with something private in every place that can hold it."""
    folder = tmp_path_factory.mktemp("wiretap")

    def refused(body: dict[str, Any]) -> httpx2.Response:
        return httpx2.Response(500, text=f"cannot answer {body['messages'][1]['content']} of {SECRETS[2]}")

    for label, lines in (("before", traces.broken(9)), ("after", traces.repaired(9))):
        for number, line in enumerate(lines):
            line["id"] = f"{SECRETS[0]}-{number}"
            line["session_id"] = f"{SECRETS[2]}-{number // 3}"
            line["body"]["messages"][1]["content"] = f"my key is {SECRETS[1]}"
            line["metadata"] = {"call_site": f"desk of {SECRETS[0]}"}
        trace = traces.write(folder / f"{label}.jsonl", [*lines, {"body": {"messages": SECRETS[0]}}])
        replay_trace(
            trace,
            "http://acme-gpu-7.internal:8000",
            folder / label,
            ReplayOptions(label=label, keep_text=True, device=f"rack of {SECRETS[0]}"),
            transport=ReplayVllm(broken={4: refused}, root=f"/home/{SECRETS[2]}/tiny").transport,
        )
    keep_comparison(folder / "comparison", compare_runs(folder / "before", folder / "after"))
    return folder


def everything(folder: Path) -> str:
    """All bytes of a folder as text, and the rows as text, for Parquet is compressed."""
    files = read_folder(folder).files
    rows = str(read_run(folder).rows) if "run.json" in files else ""
    return rows + "".join(content.decode("utf-8", "replace") for content in files.values())


@pytest.mark.parametrize("name", ["before", "after", "comparison"])
def test_nothing_private_is_in_a_copy(private: Path, tmp_path: Path, name: str) -> None:
    assert SECRETS[0] in everything(private / name)
    export_redacted(private / name, tmp_path / "copy", redact, KINDS)
    text = everything(tmp_path / "copy")
    assert [secret for secret in SECRETS if secret in text] == []


def test_a_copy_is_evidence_of_its_own_that_names_its_origin(private: Path, tmp_path: Path) -> None:
    digest = export_redacted(private / "before", tmp_path / "copy", redact, KINDS)
    verified = verify_folder(tmp_path / "copy", digest)
    assert verified.mismatches == ()
    assert verified.manifest is not None
    origin = read_folder(private / "before").manifest.chain_sha256
    assert verified.manifest.redacted_from == origin
    assert origin in (tmp_path / "copy" / "evidence.html").read_text()


def test_figures_stay_and_equal_things_stay_equal(private: Path, tmp_path: Path) -> None:
    for name in ("before", "after"):
        export_redacted(private / name, tmp_path / name, redact, KINDS)
    original, copy = read_run(private / "before"), read_run(tmp_path / "before")
    assert copy.run.tokens == original.run.tokens
    assert copy.run.counters == original.run.counters
    assert copy.run.input.sha256 == original.run.input.sha256
    assert [row.blocks for row in copy.rows] == [row.blocks for row in original.rows]
    assert [row.ttft_s for row in copy.rows] == [row.ttft_s for row in original.rows]
    assert [row.id for row in copy.rows] == [f"request-{number}" for number in range(1, 10)]
    assert [row.session for row in copy.rows] == [f"session-{1 + number // 3}" for number in range(9)]
    assert {row.text for row in copy.rows} == {None}
    assert copy.rows[4].error == "HTTP 500"
    compared = [compare_runs(place / "before", place / "after").comparison for place in (private, tmp_path)]
    assert compared[0].hit_rate == compared[1].hit_rate
    assert compared[0].ttft == compared[1].ttft


def test_a_zip_has_stable_bytes_and_the_same_files(private: Path, tmp_path: Path) -> None:
    for name in ("one.zip", "two.zip"):
        export_redacted(private / "comparison", tmp_path / name, redact, KINDS)
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "one.zip") as archive:
        assert archive.namelist() == ["comparison.json", "evidence.html", "manifest.json", "pairs.parquet"]
        archive.extractall(tmp_path / "out")
    assert verify_folder(tmp_path / "out").mismatches == ()
    export_redacted(private / "comparison", tmp_path / "folder", redact, KINDS)
    assert read_folder(tmp_path / "folder") == read_folder(tmp_path / "out")


def test_what_cannot_be_exported_is_refused_and_leaves_nothing(private: Path, tmp_path: Path) -> None:
    write_folder(tmp_path / "other", {"a.txt": b"a"})
    shutil.copytree(private / "before", tmp_path / "changed")
    (tmp_path / "changed" / "run.json").write_text("{}")
    (tmp_path / "there.zip").write_text("mine")
    for folder, out, message in (
        (tmp_path / "other", "copy", "is no evidence that can be exported"),
        (tmp_path / "changed", "copy", "'run.json' was changed"),
        (private / "before", "there.zip", "is there already"),
        (private / "before", "no/such/copy.zip", "cannot write"),
    ):
        with pytest.raises(InputError, match=message):
            export_redacted(folder, tmp_path / out, redact, KINDS)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["changed", "other", "there.zip"]
    assert (tmp_path / "there.zip").read_text() == "mine"


def test_a_word_of_known_shape_stays_only_under_its_name() -> None:
    redaction = Redaction(lambda text: "<gone>")
    digest = "ab" * 32
    document = {"sha256": digest, "device": digest, "mode": "sequential", "label": "sequential", "n": 1.5}
    assert redaction.value("", document) == {
        "sha256": digest,
        "device": "<gone>",
        "mode": "sequential",
        "label": "<gone>",
        "n": 1.5,
    }
    assert redaction.value("mode", "a sentence with Names") == "<gone>"
    assert json.dumps(redaction.value("worst", [{"id": "x"}, {"id": "y"}, {"id": "x"}])) == (
        '[{"id": "request-1"}, {"id": "request-2"}, {"id": "request-1"}]'
    )
