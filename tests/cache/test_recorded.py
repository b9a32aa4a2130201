from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwarm._errors import InputError
from keepwarm.cache.kv_events import read_kv_events
from keepwarm.cache.recorded import RequestResidual, compare_events, compare_hits

Recording = Callable[..., Path]


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    def write(*lines: Any) -> Path:
        file = tmp_path / "events.jsonl"
        file.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
        return file

    return write


def stored(*hashes: int | str, block_size: int = 16, **more: Any) -> dict[str, Any]:
    """As vLLM encodes it: all fields without a default, and those that differ from it."""
    return {
        "type": "BlockStored",
        "block_hashes": list(hashes),
        "parent_block_hash": None,
        "token_ids": [1] * block_size * len(hashes),
        "block_size": block_size,
        "lora_id": None,
        "medium": "GPU",
        "lora_name": None,
        **more,
    }


def removed(*hashes: int | str, **more: Any) -> dict[str, Any]:
    return {"type": "BlockRemoved", "block_hashes": list(hashes), "medium": "GPU", **more}


CLEARED = {"type": "AllBlocksCleared"}


def tokens(*counts: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(counts, dtype=np.int64)


def test_only_requests_that_recorded_their_hits_are_compared() -> None:
    compared = compare_hits(tokens(-1, 32, 0, 48, -1), tokens(16, 32, 16, 16, 0))
    assert compared.requests == 3
    assert compared.recorded_tokens == 80
    assert compared.simulated_tokens == 64
    assert compared.residual_tokens == 16
    assert compared.equal_requests == 1
    assert compared.worst == (RequestResidual(3, 48, 16), RequestResidual(2, 0, 16))
    assert [each.residual_tokens for each in compared.worst] == [32, -16]


def test_the_worst_are_bounded_and_ties_stay_in_order() -> None:
    compared = compare_hits(tokens(*[16] * 30), tokens(*[0] * 30), worst=4)
    assert [each.request_index for each in compared.worst] == [0, 1, 2, 3]


def test_a_trace_without_recorded_hits_compares_nothing() -> None:
    compared = compare_hits(tokens(-1, -1), tokens(0, 16))
    assert compared.requests == 0
    assert compared.residual_tokens == 0
    assert compared.worst == ()


def test_hits_of_another_trace_are_refused() -> None:
    with pytest.raises(InputError, match="2 recorded and 1 simulated requests"):
        compare_hits(tokens(1, 2), tokens(1))


@given(st.lists(st.tuples(st.integers(-1, 100), st.integers(0, 100)), max_size=20))
def test_residuals_add_up(pairs: list[tuple[int, int]]) -> None:
    recorded, simulated = (
        (tokens(*column) for column in zip(*pairs, strict=True)) if pairs else (tokens(),) * 2
    )
    compared = compare_hits(recorded, simulated, worst=len(pairs))
    differing = [pair for pair in pairs if pair[0] >= 0 and pair[0] != pair[1]]
    assert compared.residual_tokens == sum(each.residual_tokens for each in compared.worst)
    assert len(compared.worst) == len(differing) == compared.requests - compared.equal_requests
    sizes = [abs(each.residual_tokens) for each in compared.worst]
    assert sizes == sorted(sizes, reverse=True)


def test_events_are_counted(recording: Recording) -> None:
    counts = read_kv_events(recording(stored(1, 2, 3), stored(2), removed(3), stored(4), CLEARED, stored(1)))
    assert counts.stored_blocks == 6
    assert counts.removed_blocks == 1
    assert counts.clears == 1
    assert counts.peak_resident_blocks == 4  # a twin is a block of its own
    assert counts.unseen_removed_blocks == 0
    assert counts.block_size == 16
    assert counts.events == 6
    assert (counts.skipped_events, counts.first_reason) == (0, None)


@pytest.mark.parametrize(
    "line",
    [
        [1.5, [stored(1, 2), removed(1)]],
        [1.5, [stored(1, 2), removed(1)], 0],
        {"ts": 1.5, "events": [stored(1, 2), removed(1)]},
    ],
)
def test_batches_are_read_in_vllms_form_or_with_names(line: Any, recording: Recording) -> None:
    counts = read_kv_events(recording(line, stored("aGFzaA==")))
    assert (counts.stored_blocks, counts.removed_blocks, counts.events) == (3, 1, 3)


def test_one_array_of_events_and_compressed_files_are_read(recording: Recording, tmp_path: Path) -> None:
    expected = read_kv_events(recording(stored(1), removed(1)))
    assert read_kv_events(recording(json.dumps([stored(1), removed(1)], indent=1))) == expected
    packed = tmp_path / "events.jsonl.gz"
    packed.write_bytes(
        gzip.compress(json.dumps(stored(1)).encode() + b"\n" + json.dumps(removed(1)).encode())
    )
    assert read_kv_events(packed) == expected


def test_a_recording_that_began_late_says_so(recording: Recording) -> None:
    counts = read_kv_events(recording(removed(9, 9), stored(9), removed(9), removed(9)))
    assert counts.removed_blocks == 4
    assert counts.unseen_removed_blocks == 3
    assert counts.peak_resident_blocks == 1


def test_blocks_of_other_media_are_left_out(recording: Recording) -> None:
    counts = read_kv_events(
        recording(stored(1, medium=None), stored(1, medium="CPU"), removed(1, medium="CPU"))
    )
    assert (counts.stored_blocks, counts.removed_blocks) == (1, 0)
    assert counts.other_medium_events == 2


def test_bad_events_are_skipped_and_the_first_is_told(recording: Recording) -> None:
    bad = {"type": "BlockStored", "block_hashes": "no"}
    counts = read_kv_events(recording(stored(1), "{", [0.0, [bad, stored(2)]], {"type": "Other"}, [1], ""))
    assert counts.stored_blocks == 2
    assert counts.skipped_events == 4
    assert counts.first_reason is not None
    assert counts.first_reason.startswith("line 2: ")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (['{"model": "m", "messages": []}'], "holds no KV events"),
        (["what is this"], "holds no KV events"),
        (["[]"], "holds no KV events"),
        (["\n"], "holds no KV events"),
        ([stored(1), stored(2, block_size=32)], "line 2: blocks of 32 tokens, but of 16 before"),
        ([stored(1), stored(2, group_idx=1)], "line 2: an event of group 1"),
        ([removed(2, group_idx=1)], "line 1: an event of group 1"),
        ([stored(1, kv_cache_spec_kind="sliding_window")], "line 1: blocks for 'sliding_window'"),
    ],
)
def test_what_cannot_be_compared_is_told_so(lines: list[Any], message: str, recording: Recording) -> None:
    file = recording(*lines)
    with pytest.raises(InputError) as error:
        read_kv_events(file)
    assert message in str(error.value)
    assert str(file) in str(error.value)
    assert "\n" not in str(error.value)


def test_binary_empty_and_missing_files_are_told_so(tmp_path: Path) -> None:
    binary, empty = tmp_path / "stream.bin", tmp_path / "empty"
    binary.write_bytes(b"\x93\xcb\x00\x01\xff\xfe\x80")
    empty.touch()
    for path in (binary, empty, tmp_path / "none", tmp_path):
        with pytest.raises(InputError, match=str(path)):
            read_kv_events(path)


def test_events_show_their_residuals(recording: Recording) -> None:
    counts = read_kv_events(recording(stored(1, 2, 3), removed(1)))
    compared = compare_events(counts, stored_blocks=5, evicted_blocks=1, block_size=16)
    assert (compared.stored_residual_blocks, compared.evicted_residual_blocks) == (-2, 0)
    with pytest.raises(InputError, match="blocks of 16 tokens, the simulation of 32"):
        compare_events(counts, stored_blocks=5, evicted_blocks=1, block_size=32)


Step = tuple[str, int]


@given(
    st.lists(
        st.tuples(st.sampled_from(["store", "remove", "clear"]), st.integers(0, 3)), min_size=1, max_size=30
    )
)
def test_counts_are_those_of_a_replayed_list(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Step]
) -> None:
    resident: list[int] = []
    peak = unseen = 0
    events = []
    for kind, block_hash in steps:
        if kind == "store":
            events.append(stored(block_hash))
            resident.append(block_hash)
        elif kind == "clear":
            events.append(CLEARED)
            resident.clear()
        else:
            events.append(removed(block_hash))
            if block_hash in resident:
                resident.remove(block_hash)
            else:
                unseen += 1
        peak = max(peak, len(resident))
    file = tmp_path_factory.mktemp("events") / "events.jsonl"
    file.write_text("\n".join(map(json.dumps, events)))
    counts = read_kv_events(file)
    assert (counts.peak_resident_blocks, counts.unseen_removed_blocks) == (peak, unseen)
    assert counts.stored_blocks + counts.removed_blocks + counts.clears == len(steps) == counts.events
