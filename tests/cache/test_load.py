from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from keepwarm._errors import InputError, TraceError
from keepwarm.cache.ceiling import unbounded_hit_blocks
from keepwarm.cache.load import LoadedTrace, load_trace
from keepwarm.cache.options import TraceOptions
from keepwarm.diagnose import Options, diagnose
from keepwarm.trace.readers import FORMATS
from tests.cache.traces import THREE, chat, hashed, write_lines
from tests.trace_readers.samples import sample


def load(path: Path, **options: object) -> LoadedTrace:
    return load_trace(str(path), TraceOptions(**options))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_what_the_diagnosis_sees(shared: Path, tmp_path: Path, name: str) -> None:
    path = sample(shared, name, tmp_path)
    loaded = load(path)
    diagnosis = diagnose(str(path), Options())
    dense = loaded.dense
    assert loaded.trace.format == name
    assert dense.requests == diagnosis.input.requests == len(loaded.lines)
    assert dense.block_size == diagnosis.cache.block_size
    assert int(dense.prompt_tokens.sum()) == diagnosis.tokens.prompt
    assert int(unbounded_hit_blocks(dense).sum()) * dense.block_size == diagnosis.tokens.hit
    assert loaded.encoding == diagnosis.encoding
    assert sorted(loaded.lines.tolist()) == sorted(row.line for row in diagnosis.rows)
    recorded = [-1 if row.cached_tokens is None else row.cached_tokens for row in diagnosis.rows]
    assert sorted(dense.cached_tokens.tolist()) == sorted(recorded)


@pytest.mark.parametrize(
    "case", ["salt-1", "skip-reads-1", "model-switch-1", "retokenization-1", "eviction-1"]
)
def test_what_keeps_requests_apart_counts(shared: Path, case: str) -> None:
    """Salts, adapters, models, parameters that skip reads, and token ids as recorded."""
    path = shared / "cases" / "breaks" / f"{case}.jsonl"
    dense = load(path).dense
    hits = unbounded_hit_blocks(dense).sum() * dense.block_size
    assert hits == diagnose(str(path), Options()).tokens.hit


def test_lengths_and_ids(tmp_path: Path) -> None:
    records = [hashed([7, 8], tokens=9, output=3, timestamp=1500), hashed([7, 9], tokens=7)]
    dense = load(write_lines(tmp_path / "t.jsonl", records)).dense
    assert dense.block_size == 4
    assert dense.starts.tolist() == [0, 2, 3]  # the second block of seven tokens is not full
    assert dense.ids.tolist() == [0, 1, 0]
    assert dense.prompt_tokens.tolist() == [9, 7]
    assert dense.output_tokens.tolist() == [3, 0]
    assert dense.time_s.tolist() == [1.5, 0.0]
    assert dense.cached_tokens.tolist() == [-1, -1]
    assert not dense.skip_reads.any()
    assert not any(array.flags.writeable for array in dense if isinstance(array, np.ndarray))


def test_recorded_answers_extend_a_request(tmp_path: Path) -> None:
    """Prompt and answer as tokens: the next turn may hit the answer's blocks."""
    body = {"prompt": list(range(40))}
    first = {"timestamp": 1.0, "body": {"model": "m", **body}}
    first["response"] = {"choices": [{"text": "x", "token_ids": list(range(40, 60))}], "usage": {}}
    second = {"timestamp": 2.0, "body": {"model": "m", "prompt": list(range(60))}}
    dense = load(write_lines(tmp_path / "t.jsonl", [first, second]), block_size=4).dense
    assert dense.output_tokens.tolist() == [20, 0]
    assert np.diff(dense.starts).tolist() == [14, 15]  # the last sampled token has no KV
    assert unbounded_hit_blocks(dense).tolist() == [0, 14]
    assert unbounded_hit_blocks(dense, ignore_output=True).tolist() == [0, 10]


def test_sessions_without_a_common_clock_are_merged_by_time(tmp_path: Path) -> None:
    def session(name: str, times: list[float | None]) -> dict[str, object]:
        entries = [
            {"in": 4, "out": 1, "hash_ids": [number]} | ({} if t is None else {"t": t})
            for number, t in enumerate(times)
        ]
        return {"id": name, "block_size": 4, "hash_id_scope": "local", "requests": entries}

    path = write_lines(tmp_path / "t.jsonl", [session("a", [0, 5, None, 9]), session("b", [None, 5, 7])])
    loaded = load(path)
    # Same time: file order. No time: that of the request before, or the start.
    assert loaded.lines.tolist() == [1, 2, 1, 1, 2, 2, 1]
    assert loaded.dense.time_s.tolist()[0] == 0
    assert np.isnan(loaded.dense.time_s[[1, 3]]).all()


def test_other_traces_keep_file_order(tmp_path: Path) -> None:
    records = [hashed([1], timestamp=3000), hashed([2], timestamp=1000), hashed([3], timestamp=2000)]
    loaded = load(write_lines(tmp_path / "t.jsonl", records))
    assert loaded.lines.tolist() == [1, 2, 3]
    assert loaded.dense.time_s.tolist() == [3, 1, 2]


def test_block_size_is_the_flag_then_the_record_then_16(tmp_path: Path) -> None:
    plain, told = [chat("a " * 50)], [chat("a " * 50, engine={"block_size": 32})] * 2
    assert load(write_lines(tmp_path / "p.jsonl", plain)).dense.block_size == 16
    path = write_lines(tmp_path / "t.jsonl", told)
    assert load(path).dense.block_size == 32
    assert load(path, block_size=8).dense.block_size == 8
    own = write_lines(tmp_path / "h.jsonl", THREE)
    assert load(own).dense.block_size == load(own, block_size=4).dense.block_size == 4


@pytest.mark.parametrize(
    ("records", "options", "says"),
    [
        (THREE, {"block_size": 16}, "holds hashes of blocks of 4 tokens, not of 16"),
        ([*THREE, hashed([1], block_size=8)], {}, "line 4: blocks of 8 tokens, but of 4 before"),
        (
            [chat("a"), chat("b", engine={"block_size": 32})],
            {},
            "line 2: the engine's block size is 32, but 16 before; pass one for all with --block-size",
        ),
        ([chat("a")], {"tokenizer": "./nowhere"}, "no tokenizer at './nowhere'"),
        ([chat("a")], {"chat_template": "nowhere.jinja"}, "no chat template at 'nowhere.jinja'"),
        (THREE, {"format": "moncake"}, "unknown format 'moncake'"),
    ],
)
def test_what_cannot_be_one_cache_is_refused(
    tmp_path: Path, records: list[dict[str, object]], options: dict[str, object], says: str
) -> None:
    path = write_lines(tmp_path / "t.jsonl", records)
    with pytest.raises(InputError) as caught:
        load(path, **options)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_flag_settles_block_sizes_that_differ(tmp_path: Path) -> None:
    records = [chat("a " * 40), chat("a " * 40, engine={"block_size": 32})]
    assert load(write_lines(tmp_path / "t.jsonl", records), block_size=8).dense.block_size == 8


@pytest.mark.parametrize("content", ["", "\n", "{}\n", '{"hash_ids": 3, "input_length": 4}\n'])
def test_a_trace_without_requests(tmp_path: Path, content: str) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(content)
    with pytest.raises(TraceError):
        load(path)


def test_malformed_lines_are_skipped_and_listed(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "t.jsonl", THREE)
    path.write_text(path.read_text() + '{"input_length": 4, "hash_ids": null}\n{"cut off\n')
    loaded = load(path)
    assert loaded.dense.requests == 3
    assert [skipped.line for skipped in loaded.trace.skipped] == [4, 5]


@pytest.mark.parametrize("more", [{"output_length": 2**53}, {"input_length": 2**53}])
def test_a_damaged_length_is_refused_before_it_takes_all_memory(tmp_path: Path, more: dict[str, int]) -> None:
    path = write_lines(tmp_path / "t.jsonl", [*THREE, {**THREE[0], **more}])
    with pytest.raises(InputError, match=r"line 4: 90071992547\d+ tokens in one request, more than"):
        load(path)


def test_a_damaged_block_size_is_refused(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "t.jsonl", [{"input_length": 9, "hash_ids": [], "block_size": 2**53}])
    with pytest.raises(InputError, match=f"line 1: blocks of {2**53} tokens, more than any server's"):
        load(path)
