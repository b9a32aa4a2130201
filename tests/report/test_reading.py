"""What ``--out`` wrote comes back as it was, and what is damaged or something else is refused in one line."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwarm._errors import InputError
from keepwarm.diagnose import Options
from keepwarm.diagnose.findings import Diagnosis
from keepwarm.diagnose.report.as_json import diagnosis_document
from keepwarm.diagnose.report.files import Written, write_report
from keepwarm.diagnose.report.pieces import TextPart, pieces
from keepwarm.diagnose.report.reading import read_diagnosis, read_request_table, read_requests, request_rows
from tests.report.sample import report_of, to_parquet

NEW = ("break_byte", "break_before_tokens", "break_here_tokens", "break_there_tokens")


@pytest.fixture
def written(shown: Diagnosis, tmp_path: Path) -> Written:
    return write_report(report_of(shown), tmp_path, revealed=False)


def test_a_diagnosis_comes_back_without_its_rows(shown: Diagnosis, written: Written) -> None:
    saved = read_diagnosis(written.json)
    assert saved.diagnosis.rows == ()
    same = diagnosis_document(saved.diagnosis, revealed=saved.revealed)
    assert same == diagnosis_document(shown, revealed=False)  # floats are written to six digits
    assert not saved.revealed


def test_options_and_revealed_come_back(diagnosis: Diagnosis, tmp_path: Path) -> None:
    options = Options(capacity_blocks=77, tokenizer="some/folder", ttl_s=300.0)
    given_one = msgspec.structs.replace(diagnosis, options=options)
    saved = read_diagnosis(write_report(report_of(given_one), tmp_path, revealed=True).json)
    assert saved.revealed
    assert saved.diagnosis.options == options


def test_a_diagnosis_of_an_earlier_version_has_the_usual_options(written: Written) -> None:
    document = msgspec.json.decode(written.json.read_bytes())
    del document["options"]
    written.json.write_bytes(msgspec.json.encode(document))
    assert read_diagnosis(written.json).diagnosis.options == Options()


def test_rows_come_back(shown: Diagnosis, written: Written) -> None:
    assert read_requests(written.parquet) == shown.rows


def test_every_field_of_a_row_comes_back(diagnosis: Diagnosis, tmp_path: Path) -> None:
    row = msgspec.structs.replace(
        diagnosis.rows[0],
        break_byte=7,
        break_before="ab",
        break_before_tokens=(2,),
        break_here="cde",
        break_here_tokens=(1, 0, 2),
        break_there="f",
        break_there_tokens=(1,),
        causes=("clock", "salt"),
        cached_tokens=3,
    )
    path = tmp_path / "requests.parquet"
    path.write_bytes(to_parquet((row,)))
    assert read_requests(path) == (row,)


def test_rows_of_an_earlier_version_have_defaults(shown: Diagnosis, written: Written) -> None:
    table = pq.read_table(written.parquet)
    pq.write_table(table.drop_columns(list(NEW)), written.parquet)
    for row, source in zip(read_requests(written.parquet), shown.rows, strict=True):
        assert row.id == source.id
        assert row.break_byte is None
        assert row.break_here_tokens == ()


def test_no_rows_are_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "requests.parquet"
    path.write_bytes(to_parquet(()))
    assert read_requests(path) == ()


def test_lengths_are_left_out_where_a_text_cannot_be_written_as_it_is(
    diagnosis: Diagnosis, tmp_path: Path
) -> None:
    row = msgspec.structs.replace(diagnosis.rows[0], break_here="\ud800", break_here_tokens=(1,))
    path = tmp_path / "requests.parquet"
    path.write_bytes(to_parquet((row,)))
    (back,) = read_requests(path)
    assert (back.break_here, back.break_here_tokens) == (r"\ud800", ())


def refused(call: object, path: Path, *said: str) -> None:
    with pytest.raises(InputError) as error:
        call(path)  # type: ignore[operator]
    assert "\n" not in str(error.value)
    for text in (path.name, *said):
        assert text in str(error.value)


def test_other_or_cut_documents_are_refused(written: Written, tmp_path: Path) -> None:
    whole = written.json.read_bytes()
    for content in (
        whole[: len(whole) // 2],
        b"",
        b"[]",
        b"null",
        b"\xff\xfe",
        b'{"schema":"keepwarm.diagnosis/1"}',
    ):
        written.json.write_bytes(content)
        refused(read_diagnosis, written.json)
    written.json.write_bytes(b'{"schema":"keepwarm.task/1"}')
    refused(read_diagnosis, written.json, "keepwarm.task/1", "name another file")
    refused(read_diagnosis, tmp_path / "nothing.json", "No such file")
    refused(read_diagnosis, tmp_path)


def test_other_or_cut_tables_are_refused(written: Written, tmp_path: Path) -> None:
    whole = written.parquet.read_bytes()
    table = pq.read_table(written.parquet)
    written.parquet.write_bytes(whole[: len(whole) // 2])
    refused(read_requests, written.parquet, "write it anew")
    pq.write_table(table.drop_columns(["hit_tokens"]), written.parquet)
    refused(read_requests, written.parquet, "hit_tokens")
    other = table.set_column(0, "index", pa.array([str(i) for i in range(table.num_rows)]))
    pq.write_table(other, written.parquet)
    refused(read_requests, written.parquet, "index")
    refused(read_requests, written.map, "keepwarm.prompt-map/1")
    refused(read_requests, tmp_path / "nothing.parquet")


def test_pieces_are_tokens_where_their_lengths_are_known() -> None:
    assert pieces("a bc", (1, 1, 0, 2)) == (TextPart("a", False), TextPart(" ", False), TextPart("bc", False))
    assert pieces("a bc", (1, 1)) == (TextPart("a bc", False),)
    assert pieces("", ()) == ()


def test_pieces_of_a_masked_text_are_its_masks_and_what_is_between() -> None:
    assert pieces("at ‹time: 8 chars›, ‹id: 1 char›", ()) == (
        TextPart("at ", False),
        TextPart("‹time: 8 chars›", True),
        TextPart(", ", False),
        TextPart("‹id: 1 char›", True),
    )


@given(st.text(), st.lists(st.integers(-2, 9), max_size=9))
def test_pieces_joined_are_the_text(text: str, lengths: list[int]) -> None:
    assert "".join(part.text for part in pieces(text, lengths)) == text


def test_a_part_of_the_table_gives_its_rows(shown: Diagnosis, written: Written) -> None:
    table = read_request_table(written.parquet)
    assert request_rows(table.slice(3, 4)) == shown.rows[3:7]
    assert request_rows(table.take([5, 2])) == (shown.rows[5], shown.rows[2])
    assert request_rows(pa.concat_tables([table.slice(7, 1), table.slice(0, 2)])) == (
        shown.rows[7],
        *shown.rows[:2],
    )
    assert request_rows(table.slice(0, 0)) == ()
