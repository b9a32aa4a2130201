from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from keepwarm._errors import InputError
from keepwarm.cache import store as store_module
from keepwarm.cache.load import LoadedTrace, load_trace
from keepwarm.cache.options import TraceOptions
from keepwarm.cache.simulate import simulate_cache
from keepwarm.cache.store import TraceStore, store_folder, trace_key
from keepwarm.trace.open import open_trace
from tests.cache.traces import THREE, chat, hashed, write_lines


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    records = [hashed([1, 2, 3], tokens=13, output=9), hashed([], tokens=3), hashed([1, 2, 5])]
    return write_lines(tmp_path / "t.jsonl", records)


def load(path: Path, folder: Path, **options: Any) -> LoadedTrace:
    return load_trace(str(path), TraceOptions(**options), store=TraceStore(folder))


def same(a: LoadedTrace, b: LoadedTrace) -> bool:
    arrays = zip([a.lines, *a.dense], [b.lines, *b.dense], strict=True)
    pairs = [(np.asarray(left), np.asarray(right)) for left, right in arrays]
    equal = all(x.dtype == y.dtype and np.array_equal(x, y, equal_nan=x.dtype.kind == "f") for x, y in pairs)
    return equal and (a.encoding, a.models) == (b.encoding, b.models)


def refuse_to_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(*args: object) -> None:
        raise AssertionError("the trace was read again")

    monkeypatch.setattr("keepwarm.cache.load._read", read)


def stored(folder: Path) -> Path:
    (file,) = folder.iterdir()
    return file


@pytest.mark.parametrize("records", [THREE, [chat("ab " * 50), chat("ab " * 90)]], ids=["hashes", "text"])
def test_the_next_run_takes_it_from_the_store(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, records: list[dict[str, Any]]
) -> None:
    path = write_lines(tmp_path / "t.jsonl", records)
    first = load(path, folder)
    assert same(first, load_trace(str(path), TraceOptions()))
    refuse_to_read(monkeypatch)
    second = load(path, folder)
    assert same(first, second)
    assert not any(array.flags.writeable for array in second.dense if isinstance(array, np.ndarray))


def test_a_store_that_may_only_be_read_is_read(
    trace: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = load(trace, folder)

    def refuse(*args: object) -> None:
        raise PermissionError(30, "Read-only file system")

    monkeypatch.setattr(os, "utime", refuse)
    refuse_to_read(monkeypatch)
    assert same(load(trace, folder), first)


def test_odd_shapes_survive(trace: Path, folder: Path) -> None:
    assert same(load(trace, folder), load(trace, folder))


def test_a_copy_elsewhere_is_the_same_trace(
    trace: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = load(trace, folder)
    copy = tmp_path / "copy.jsonl"
    shutil.copy(trace, copy)
    refuse_to_read(monkeypatch)
    again = load(copy, folder)
    assert same(first, again)
    assert again.trace.path == copy


def test_nothing_of_a_prompt_is_stored(tmp_path: Path, folder: Path) -> None:
    secret = "Brunhilde ordered 17 lamps"
    load(write_lines(tmp_path / "t.jsonl", [chat(secret * 40), chat("x")]), folder)
    file = stored(folder)
    table = pq.read_table(file)
    assert set(table.column_names) == {
        "line", "prompt_tokens", "output_tokens", "skip_reads", "time_s", "cached_tokens", "blocks",
    }  # fmt: skip
    blocks = table["blocks"].combine_chunks().values.to_pylist()
    assert set(blocks) == set(range(len(set(blocks))))  # numbered by appearance: no hash, no token
    assert b"Brunhilde" not in file.read_bytes()
    assert b"lamps" not in b"".join(table.schema.metadata.values())
    assert file.stat().st_mode & 0o077 == 0
    assert folder.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("share", [0, 0.01, 0.3, 0.5, 0.9, 0.999])
def test_a_file_cut_short_is_read_anew(trace: Path, folder: Path, share: float) -> None:
    expected = load(trace, folder)
    file = stored(folder)
    whole = file.read_bytes()
    file.write_bytes(whole[: int(len(whole) * share)])
    assert same(load(trace, folder), expected)
    assert len(file.read_bytes()) == len(whole)  # and stored again


def test_a_file_with_any_byte_changed_gives_the_same_answer(trace: Path, folder: Path) -> None:
    expected = load(trace, folder)
    file = stored(folder)
    whole = file.read_bytes()
    for position in range(0, len(whole), 7):
        file.write_bytes(whole[:position] + bytes([whole[position] ^ 0x41]) + whole[position + 1 :])
        found = TraceStore(folder).load(file.stem)
        assert found is None or same(expected, LoadedTrace(expected.trace, *found)), position


def test_a_file_of_another_trace_under_this_name(trace: Path, folder: Path, tmp_path: Path) -> None:
    expected = load(trace, folder)
    file = stored(folder)
    other = write_lines(tmp_path / "other.jsonl", THREE)
    load(other, tmp_path / "elsewhere")
    file.write_bytes(stored(tmp_path / "elsewhere").read_bytes())
    assert same(load(trace, folder), expected)


def test_a_folder_that_cannot_be_used(trace: Path, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    expected = load_trace(str(trace), TraceOptions())
    assert same(load(trace, file), expected)
    assert same(load(trace, file / "below"), expected)
    assert file.read_text() == "mine"


def test_a_write_that_fails_leaves_nothing(
    trace: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(table: object, file: Any, **options: object) -> None:
        file.write(b"PAR1 and then the disk was full")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store_module.pq, "write_table", write)
    expected = load_trace(str(trace), TraceOptions())
    assert same(load(trace, folder), expected)
    assert list(folder.iterdir()) == []


def test_traces_with_skipped_lines_are_not_stored(trace: Path, folder: Path) -> None:
    """Their reasons belong to the answer, and may quote the trace."""
    trace.write_text(trace.read_text() + "{\n")
    for _ in range(2):
        assert [skipped.line for skipped in load(trace, folder).trace.skipped] == [4]
    assert not folder.exists()


def test_the_least_recently_used_go_first(
    trace: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = [write_lines(tmp_path / f"{n}.jsonl", [hashed([n, 9])]) for n in range(3)]
    for age, path in enumerate([trace, *others]):
        load(path, folder)
        newest = max(folder.iterdir(), key=lambda file: file.stat().st_mtime_ns)
        os.utime(newest, (1000 + age, 1000 + age))
    files = sorted(folder.iterdir(), key=lambda file: file.stat().st_mtime_ns)
    load(trace, folder)  # used now: no longer the oldest
    room = sum(file.stat().st_size for file in files)
    monkeypatch.setattr(store_module, "_MOST_BYTES", room)
    load(write_lines(tmp_path / "new.jsonl", [hashed([7, 9])]), folder)
    left = set(folder.iterdir())
    assert files[0] in left
    assert files[1] not in left
    assert files[3] in left


def key(path: Path, **options: Any) -> str | None:
    opened = open_trace(path, options.get("format", "auto"))
    first = next(opened.requests())
    return trace_key(opened, first, TraceOptions(**options), options.get("block_size") or 16)


def test_everything_that_decides_the_ids_is_in_the_key(
    tmp_path: Path, test_tokenizers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_lines(tmp_path / "t.jsonl", [chat("hello")])
    other = write_lines(tmp_path / "u.jsonl", [chat("hallo")])
    template = tmp_path / "t.jinja"
    template.write_text("{{ messages[0].content }}")
    tokenizer = tmp_path / "tokenizer"
    shutil.copytree(min(test_tokenizers.glob("*/tokenizer.json")).parent, tokenizer)

    def keys() -> list[str | None]:
        return [
            key(path),
            key(other),
            key(path, format="openai-chat"),  # lines of another format are read then
            key(path, block_size=32),
            key(path, chat_template=str(template)),
            key(path, tokenizer=str(tokenizer)),
        ]

    before = keys()
    assert len(set(before)) == len(before)
    assert keys() == before
    template.write_text("{{ messages[0].content }}!")
    (tokenizer / "tokenizer_config.json").write_text("{}")
    after = keys()
    assert [a == b for a, b in zip(before, after, strict=True)] == [True] * 4 + [False] * 2
    monkeypatch.setattr(store_module, "_SCHEMA", "keepwarm.interned/2")
    assert not set(keys()) & set(after)


def test_a_recorded_template_is_in_the_key(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "t.jsonl", [{**chat("hello"), "chat_template": "own.jinja"}])
    with pytest.raises(InputError):
        key(path)
    template = tmp_path / "own.jinja"
    template.write_text("{{ messages[0].content }}")
    before = key(path)
    template.write_text("other {{ messages[0].content }}")
    assert key(path) != before


def test_a_server_keeps_its_tokenizer_to_itself(tmp_path: Path) -> None:
    assert key(write_lines(tmp_path / "t.jsonl", [chat("a")]), tokenizer="http://localhost:1") is None
    # Block hashes need no tokenizer.
    assert key(write_lines(tmp_path / "h.jsonl", THREE), tokenizer="http://localhost:1") is not None


def test_where_it_lies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEEPWARM_CACHE_DIR", "/a/b")
    assert store_folder() == Path("/a/b/interned")
    monkeypatch.delenv("KEEPWARM_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", "/c")
    assert store_folder() == Path("/c/keepwarm/interned")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert store_folder() == Path.home() / ".cache" / "keepwarm" / "interned"


def test_a_user_without_a_home_keeps_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KEEPWARM_CACHE_DIR", "~nobody-of-that-name/x")
    assert store_folder() is None
    simulate_cache(str(write_lines(tmp_path / "t.jsonl", THREE)))
