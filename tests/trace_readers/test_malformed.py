"""Damaged input: what is good is used, the rest is named, and nothing raises but TraceError."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
import zstandard

from keepwarm import _errors
from keepwarm.trace.open import MAX_SKIPPED_LISTED, Trace, open_trace
from keepwarm.trace.records import Request

GOOD = {"id": "a", "timestamp": 5, "body": {"model": "m", "messages": [{"role": "user", "content": "hello"}]}}


def write(path: Path, *records: object) -> Path:
    lines = (record if isinstance(record, str) else json.dumps(record) for record in records)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def read(path: Path) -> tuple[list[Request], Trace]:
    trace = open_trace(path)
    return list(trace.requests()), trace


def test_every_malformed_case(shared: Path) -> None:
    seen = 0
    for expectation in sorted((shared / "cases" / "malformed").glob("*.expect.json")):
        expect = json.loads(expectation.read_bytes())
        path = expectation.with_name(expectation.name.removesuffix(".expect.json"))
        seen += 1
        if expect["must_exit"] == 2:
            with pytest.raises(_errors.TraceError) as caught:
                read(path)
            assert "\n" not in str(caught.value)
            continue
        requests, trace = read(path)
        assert len(requests) >= expect.get("min_ok", 0), path.name
        if expect["ok_requests"] is not None:
            assert len(requests) == expect["ok_requests"], path.name
            lines = [line for line in path.read_bytes().splitlines() if line.strip()]
            assert len(requests) + len(trace.skipped) == len(lines)
        assert all(skip.line > 0 and skip.reason for skip in trace.skipped)
    assert seen >= 12


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        ("hello", "messages is text"),
        ({"role": "user"}, "messages is an object"),
        ([], "messages is empty"),
        ([{"content": "x"}], "messages[0] has no role"),
        ([{"role": 5, "content": "x"}], "messages[0] has no role"),
        ([{"role": "user", "content": 5}], "messages[0].content is a number"),
        ([{"role": "user", "content": True}], "messages[0].content is true or false"),
        ([{"role": "user", "content": {"text": "x"}}], "messages[0].content is an object"),
        ([{"role": "user"}], "messages[0].content is missing"),
        ([{"role": "user", "content": [3]}], "messages[0].content[0] is a number"),
        ([{"role": "user", "content": [{"type": "text"}]}], "messages[0].content[0].text is missing"),
        (["x"], "messages[0] is text"),
        ([{"role": "assistant", "tool_calls": [{"id": "c"}]}], "tool_calls[0].function has no name"),
    ],
)
def test_unusable_messages_are_named(tmp_path: Path, messages: object, reason: str) -> None:
    bad = {**GOOD, "body": {"model": "m", "messages": messages}}
    requests, trace = read(write(tmp_path / "t", GOOD, bad, GOOD))
    assert [request.line for request in requests] == [1, 3]
    (skip,) = trace.skipped
    assert skip.line == 2
    assert reason in skip.reason


def test_odd_types_around_a_good_body_are_no_reason_to_skip(tmp_path: Path) -> None:
    odd = [
        {**GOOD, "id": 7, "timestamp": {"a": 1}, "session_id": [1], "response": "x", "engine": 3},
        {**GOOD, "id": None, "timestamp": -5, "response": {"choices": [5], "usage": []}},
        {
            **GOOD,
            "id": 10**30,
            "timestamp": True,
            "response": {"usage": {"prompt_tokens": "x"}},
        },
        {**GOOD, "response": {"choices": [{"message": {"content": 5}}]}, "metadata": "x"},
        {"id": [], "body": {"model": None, "messages": GOOD["body"]["messages"]}},  # type: ignore[index]
    ]
    requests, trace = read(write(tmp_path / "t", *odd))
    assert len(requests) == len(odd)
    assert trace.skipped == ()
    assert [request.time_s for request in requests] == [None, None, None, 5.0, None]
    assert requests[0].id == "7"
    assert requests[1].id == "line-2"


def test_equal_ids_stay_apart(tmp_path: Path) -> None:
    requests, _ = read(write(tmp_path / "t", GOOD, {**GOOD, "id": "a#2"}, GOOD, GOOD))
    assert [request.id for request in requests] == ["a", "a#2", "a#3", "a#4"]


@pytest.mark.parametrize(
    ("time", "seconds"),
    [
        (1779271200, 1779271200.0),
        (1779271200.5, 1779271200.5),
        (1779271200500, 1779271200.5),
        (1779271200500000, 1779271200.5),
        (1779271200500000000, 1779271200.5),
        ("1779271200500", 1779271200.5),
        ("2026-05-20T10:00:00.500Z", 1779271200.5),
        ("2026-05-20T12:00:00.5+02:00", 1779271200.5),
        ("2026-05-20 10:00:00", 1779271200.0),
        (12.5, 12.5),
        (0, 0.0),
        (-1, None),
        ("yesterday", None),
        ("", None),
        ("nan", None),
        (1e300, None),
        (False, None),
    ],
)
def test_times(tmp_path: Path, time: object, seconds: float | None) -> None:
    (request,), _ = read(write(tmp_path / "t", {**GOOD, "timestamp": time}))
    assert request.time_s == seconds


def test_time_that_is_not_json_costs_the_time_only(tmp_path: Path) -> None:
    line = json.dumps(GOOD).replace('"timestamp": 5', '"timestamp": NaN')
    requests, trace = read(write(tmp_path / "t", GOOD, line))
    assert [request.time_s for request in requests] == [5.0, None]
    assert trace.skipped == ()


@pytest.mark.parametrize("packed", [gzip.compress, zstandard.compress])
@pytest.mark.parametrize("damage", ["cut", "flipped"])
def test_broken_compression_keeps_what_came_before(tmp_path: Path, packed: object, damage: str) -> None:
    import random

    words = random.Random(1)
    records = [
        {
            **GOOD,
            "id": f"r{n}",
            "body": {"model": "m", "messages": [{"role": "user", "content": str(words.random())}]},
        }
        for n in range(60_000)
    ]
    path = write(tmp_path / "t", *records)
    data = bytearray(packed(path.read_bytes()))  # type: ignore[operator]
    middle = len(data) * 2 // 3
    if damage == "cut":
        del data[middle:]
    else:
        data[middle : middle + 64] = bytes(64)
    path.write_bytes(data)
    requests, trace = read(path)
    assert 1_000 < len(requests) < 60_000
    assert any("stream" in skip.reason for skip in trace.skipped)
    assert [request.id for request in requests[:1000]] == [f"r{n}" for n in range(1000)]


def test_cut_array_keeps_the_whole_elements(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    text = json.dumps([GOOD, GOOD, GOOD])
    path.write_text(text[:-20], encoding="utf-8")
    requests, trace = read(path)
    assert len(requests) == 2
    assert trace.skipped[0].line == 3
    assert "cut off" in trace.skipped[0].reason


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_line_cut_in_the_middle_of_a_file_is_called_cut(tmp_path: Path, end: str) -> None:
    good = json.dumps(GOOD)
    path = tmp_path / "t"
    path.write_bytes(end.join([good, good[: good.index("hello") + 3], good, ""]).encode())
    requests, trace = read(path)
    assert len(requests) == 2
    assert [(skip.line, "cut off" in skip.reason) for skip in trace.skipped] == [(2, True)]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"PK\x03\x04....", "zip archive"),
        (b"PAR1....", "Parquet"),
        ("x".encode("utf-16"), "UTF-16"),
        (b"hello world\n", "no recorded requests recognised"),
        (b"\n\n\n", "no recorded requests recognised"),
        (gzip.compress(b""), "no recorded requests recognised"),
        (b"[]", "no recorded requests recognised"),
        (b"{}", "no recorded requests recognised"),
        (b"\x1f\x8b", "gzip stream ends before its end mark"),
    ],
)
def test_files_of_other_kinds(tmp_path: Path, content: bytes, expected: str) -> None:
    path = tmp_path / "t"
    path.write_bytes(content)
    with pytest.raises(_errors.TraceError, match=expected):
        read(path)


def test_missing_file_and_unknown_format(tmp_path: Path) -> None:
    with pytest.raises(_errors.TraceError, match="no such file"):
        open_trace(tmp_path / "absent")
    with pytest.raises(_errors.TraceError, match=r"'-'.*save the stream to a file"):
        open_trace("-")
    with pytest.raises(_errors.TraceError, match="unknown format 'x'; known are: auto, openai-chat"):
        open_trace(write(tmp_path / "t", GOOD), format="x")
    with pytest.raises(_errors.TraceError, match="null"):
        open_trace("bad\0name")


def test_wrong_format_by_hand_is_one_clear_line(tmp_path: Path) -> None:
    trace = open_trace(write(tmp_path / "t", GOOD), format="mooncake")
    with pytest.raises(_errors.TraceError, match=r"read as mooncake.*line 1: input_length is missing"):
        list(trace.requests())


def test_bad_head_does_not_decide_the_format(tmp_path: Path) -> None:
    requests, trace = read(write(tmp_path / "t", *["garbage"] * 500, GOOD, GOOD))
    assert trace.format == "openai-chat"
    assert len(requests) == 2
    assert len(trace.skipped) == 500


def test_lines_of_another_format_are_named(shared: Path, tmp_path: Path) -> None:
    formats = shared / "cases" / "formats"
    others = ["anthropic-messages", "openai-responses", "openai-batch", "litellm", "langfuse", "mooncake"]
    lines = [(formats / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()[0] for name in others]
    good = (formats / "openai-chat.jsonl").read_text(encoding="utf-8").splitlines()
    requests, trace = read(write(tmp_path / "t", *good, *lines))
    assert trace.format == "openai-chat"
    assert len(requests) == 6
    assert [skip.reason.split()[5] for skip in trace.skipped] == others


def test_many_skipped_lines_are_listed_up_to_a_limit(tmp_path: Path) -> None:
    _, trace = read(write(tmp_path / "t", GOOD, *["x"] * (MAX_SKIPPED_LISTED + 5)))
    assert len(trace.skipped) == MAX_SKIPPED_LISTED + 1
    assert trace.skipped[-1].line == MAX_SKIPPED_LISTED + 6
    assert "5 more" in trace.skipped[-1].reason


def test_reading_again_and_progress(shared: Path) -> None:
    trace = open_trace(shared / "cases" / "healthy" / "tau_airline.jsonl.gz")
    consumed: list[int] = []
    first = list(trace.requests(on_bytes=consumed.append))
    assert consumed == sorted(consumed)
    assert consumed[-1] == trace.size_bytes == trace.path.stat().st_size
    assert list(trace.requests()) == first
    assert len(trace.sha256) == 64


def test_stopping_early_closes_the_file(tmp_path: Path) -> None:
    requests = open_trace(write(tmp_path / "t", GOOD, GOOD)).requests()
    next(requests)
    requests.close()  # type: ignore[attr-defined]  # ResourceWarning is an error in these tests
