"""Parts, ranges and files of any size number blocks as one hash table does."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwarm._resources import Resources
from keepwarm._spill import RunFolder, run_folder
from keepwarm.cache.intern import intern_requests
from keepwarm.cache.numbering import numbered, reordered
from keepwarm.cache.parts import PartMaker, Parts, PartsInMemory, ReadSoFar, SpilledParts
from keepwarm.cache.places import Ids, InFiles, InMemory, Place, drop_pages
from keepwarm.cache.replay import CacheRequest
from keepwarm.trace.hashes import BlockHashes

Trace = list[list[int]]

# Few contents, so that they come back; spread over all 64 bits, the ends included.
TRACES = st.lists(
    st.lists(st.sampled_from([0, 1, 7, 2**32, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1]), max_size=6),
    min_size=1,
    max_size=12,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunFolder]:
    with run_folder(Resources(spill=tmp_path_factory.mktemp("spill")), "key") as run:
        yield run


def fill(parts: Parts, trace: Trace, part_blocks: int) -> None:
    maker = PartMaker(part_blocks)
    for line, blocks in enumerate(trace):
        maker.add((line, len(blocks), 0, False, float(line), -1), hashes_of(blocks))
        if maker.full:
            parts.add(maker.take(ReadSoFar()))
    if not maker.empty:
        parts.add(maker.take(ReadSoFar()))


def hashes_of(blocks: Sequence[int]) -> BlockHashes:
    return np.array(blocks, dtype=np.uint64)


def ids_of(parts: Parts, place: Place, most_hashes: int | None) -> tuple[int, list[int]]:
    distinct, pieces = numbered(parts, place, most_hashes=most_hashes)
    return distinct, [number for piece in pieces for number in piece.tolist()]


def expected(trace: Trace) -> tuple[int, list[int]]:
    dense = intern_requests([CacheRequest(hashes_of(blocks), len(blocks)) for blocks in trace], 1)
    return dense.distinct_blocks, dense.ids.tolist()


@given(TRACES, st.integers(1, 9), st.none() | st.integers(1, 5))
def test_as_one_table_would(trace: Trace, part_blocks: int, most_hashes: int | None) -> None:
    parts = PartsInMemory()
    fill(parts, trace, part_blocks)
    assert ids_of(parts, InMemory(), most_hashes) == expected(trace)


@given(TRACES, st.integers(1, 9), st.integers(1, 5))
def test_on_disk_as_well(trace: Trace, part_blocks: int, most_hashes: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = RunFolder(Path(name), "key")
        fill(SpilledParts(folder), trace, part_blocks)
        parts = SpilledParts(folder)  # as the next run finds them
        assert parts.requests == len(trace)
        assert ids_of(parts, InFiles(folder), most_hashes) == expected(trace)
        columns = parts.columns()
        assert columns.lines.tolist() == list(range(len(trace)))
        assert columns.blocks.tolist() == [len(blocks) for blocks in trace]


@given(TRACES, st.randoms(use_true_random=False))
def test_another_order_is_numbered_anew(trace: Trace, rng: object) -> None:
    order = list(range(len(trace)))
    rng.shuffle(order)  # type: ignore[attr-defined]
    dense = intern_requests([CacheRequest(hashes_of(blocks), len(blocks)) for blocks in trace], 1)
    pieces = reordered(dense.ids, dense.starts, np.array(order, dtype=np.int64), dense.distinct_blocks)
    found = [number for piece in pieces for number in piece.tolist()]
    assert found == expected([trace[index] for index in order])[1]


def test_long_requests_in_another_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keepwarm.cache.numbering._STEP_BLOCKS", 3)
    trace = [[5, 6, 7, 8], [], [5], [9, 9], [5, 6], [1, 2, 3, 4, 5, 6]]
    order = [5, 1, 3, 0, 4, 2]
    dense = intern_requests([CacheRequest(hashes_of(blocks), len(blocks)) for blocks in trace], 1)
    pieces = reordered(dense.ids, dense.starts, np.array(order), dense.distinct_blocks)
    found = [number for piece in pieces for number in piece.tolist()]
    assert found == expected([trace[index] for index in order])[1]


def test_a_mapped_file_is_gone_through_without_holding_it(folder: RunFolder) -> None:
    step, steps = 1 << 20, 24
    ids = InFiles(folder).filled((np.zeros(step, dtype=np.int32) for _ in range(steps)), steps * step)
    starts = np.arange(steps + 1, dtype=np.int64) * step
    before_bytes = most_bytes = mapped_bytes()
    for piece in reordered(ids, starts, np.arange(steps)[::-1], 1):
        most_bytes = max(most_bytes, mapped_bytes())
        assert len(piece) == step
    assert most_bytes - before_bytes < 4 * ids.nbytes // steps


def mapped_bytes() -> int:
    """Pages of files that this process holds."""
    found = re.search(r"RssFile:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) << 10


def test_a_part_that_was_cut_short_ends_what_is_found(folder: RunFolder) -> None:
    fill(SpilledParts(folder), [[1, 2], [3, 4], [5, 6]], 2)
    path = folder.path_of("requests-000001.parquet")
    path.write_bytes(path.read_bytes()[:-9])
    parts = SpilledParts(folder)
    assert parts.requests == 1
    fill(parts, [[3, 4], [5, 6]], 2)
    assert ids_of(parts, InFiles(folder), None) == (6, [0, 1, 2, 3, 4, 5])


@pytest.mark.parametrize("pieces", [[], [[1, 2], [], [3]]])
def test_a_mapped_file_holds_what_memory_would(folder: RunFolder, pieces: list[list[int]]) -> None:
    arrays = [np.array(piece, dtype=np.int32) for piece in pieces]
    count = sum(map(len, arrays))
    places: list[Place] = [InMemory(), InFiles(folder)]
    filled: list[Ids] = [place.filled(iter(arrays), count) for place in places]
    for ids in filled:
        drop_pages(ids)
    assert filled[0].tolist() == filled[1].tolist()
    blank = InFiles(folder).blank(3)
    blank[:] = 7
    drop_pages(blank)
    assert blank.tolist() == [7, 7, 7]
