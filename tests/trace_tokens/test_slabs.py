"""Byte strings and hash arrays come out of slabs as they went in."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from keepwarm.trace import slabs
from keepwarm.trace.slabs import ByteSlabs, HashSlabs


@given(st.lists(st.binary(max_size=40)))
def test_bytes_come_back_across_slab_borders(values: list[bytes]) -> None:
    kept = ByteSlabs()
    for value in values:
        kept.append(value)
    assert [kept[i] for i in range(len(kept))] == values


def test_small_slabs_and_values_larger_than_one(monkeypatch) -> None:
    monkeypatch.setattr(slabs, "_SLAB_BYTES", 64)
    values = [bytes([i]) * (i % 90) for i in range(200)]
    kept = ByteSlabs()
    for value in values:
        kept.append(value)
    assert [kept[i] for i in range(len(kept))] == values
    arrays = [np.arange(i % 20, dtype=np.uint64) for i in range(100)]
    hashes = HashSlabs()
    copies = [hashes.keep(array) for array in arrays]
    assert all(np.array_equal(a, b) for a, b in zip(arrays, copies, strict=True))
    assert not any(copy.flags.writeable for copy in copies)
