from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq
import pytest

from keepwarm._errors import InputError
from keepwarm._json import to_json
from keepwarm.diagnose.findings import Diagnosis
from keepwarm.diagnose.report import files
from keepwarm.diagnose.report.as_json import diagnosis_document, request_document
from keepwarm.diagnose.report.files import check_directory, write_report
from keepwarm.diagnose.report.wording import FATES
from tests.report.sample import JSON_GOLDEN, report_of, to_parquet

NAMES = ["diagnosis.json", "map.parquet", "report.html", "requests.parquet", "templates.json"]


def shape(value: Any) -> Any:
    """Keys in their order; of a list its first element, of anything else its type."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return type(value).__name__


def holds(contract: Any, document: Any, place: str = "$") -> None:
    """``document`` has the keys of ``contract`` in their order, perhaps with others between them."""
    if isinstance(contract, dict):
        assert [key for key in document if key in contract] == list(contract), place
        for key, inner in contract.items():
            holds(inner, document[key], f"{place}.{key}")
    elif isinstance(contract, list):
        holds(contract[0], document[0], f"{place}[0]")
    else:
        assert document == contract, place


def test_contract_keys_and_their_order(shown: Diagnosis) -> None:
    document = json.loads(to_json(diagnosis_document(shown, revealed=False)))
    holds(json.loads(JSON_GOLDEN.read_text()), shape(document))
    assert "rows" not in document


def test_the_six_fates_add_up(shown: Diagnosis) -> None:
    tokens = diagnosis_document(shown, revealed=False)["tokens"]
    assert sum(tokens[fate.name] for fate in FATES) == tokens["prompt"]


def test_floats_are_rounded_and_never_nan(shown: Diagnosis) -> None:
    odd = msgspec.structs.replace(shown, hit_rate=1 / 3, hit_rate_if_fixed=float("nan"))
    text = to_json(diagnosis_document(odd, revealed=False)).decode()
    assert '"hit_rate": 0.333333,' in text
    assert '"hit_rate_if_fixed": null,' in text


def test_json_escapes_what_a_terminal_would_obey(shown: Diagnosis) -> None:
    value = "\x1b[31m\x9b2J\u202e\u2028\ud800"
    site = msgspec.structs.replace(shown.call_sites[0], name=value)
    text = to_json(diagnosis_document(msgspec.structs.replace(shown, call_sites=(site,)), revealed=True))
    assert not set(text.decode()) & set("\x1b\x9b\u202e\u2028")
    assert json.loads(text)["call_sites"][0]["name"] == value


def test_explanation_document(shown: Diagnosis) -> None:
    document = json.loads(to_json(request_document(shown, shown.rows[4], shown.findings[:1], revealed=False)))
    assert document["schema"] == "keepwarm.explanation/1"
    assert document["request"]["id"] == shown.rows[4].id
    assert (
        sum(document["request"]["tokens"][fate.name] for fate in FATES)
        == document["request"]["tokens"]["prompt"]
    )


def test_parquet_has_a_row_per_request(shown: Diagnosis, tmp_path: Path) -> None:
    written = write_report(report_of(shown), tmp_path / "out", revealed=False)
    table = pq.read_table(written.parquet)
    assert table.num_rows == len(shown.rows)
    rows = table.to_pylist()
    for row, source in zip(rows, shown.rows, strict=True):
        assert (row["id"], row["causes"], row["break_token"]) == (
            source.id,
            list(source.causes),
            source.break_token,
        )
        assert sum(row[f"{fate.name}_tokens"] for fate in FATES) == row["prompt_tokens"]


def test_parquet_of_no_rows_and_of_lone_surrogates(shown: Diagnosis) -> None:
    assert to_parquet(())
    assert to_parquet((msgspec.structs.replace(shown.rows[0], break_here="\ud800"),))


def test_two_runs_give_the_same_bytes(shown: Diagnosis, tmp_path: Path) -> None:
    first, second = (write_report(report_of(shown), tmp_path / name, revealed=False) for name in ("a", "b"))
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()


def test_only_the_files_of_the_report_are_left(shown: Diagnosis, tmp_path: Path) -> None:
    write_report(report_of(shown), tmp_path, revealed=False)
    write_report(report_of(shown), tmp_path, revealed=False)
    assert sorted(path.name for path in tmp_path.iterdir()) == NAMES


def test_a_full_disk_leaves_the_old_file(
    shown: Diagnosis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = write_report(report_of(shown), tmp_path, revealed=False)
    before = written.html.read_bytes()

    def full(*args: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files.os, "fchmod", full)
    with pytest.raises(InputError, match=r"report\.html.*No space left"):
        write_report(report_of(msgspec.structs.replace(shown, findings=())), tmp_path, revealed=False)
    assert written.html.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == NAMES


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    for place in (file, file / "below"):
        with pytest.raises(InputError, match="is not a folder"):
            check_directory(place)


def test_checking_creates_nothing(tmp_path: Path) -> None:
    check_directory(tmp_path / "a" / "b")
    assert not list(tmp_path.iterdir())
