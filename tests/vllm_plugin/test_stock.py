"""Moves in the free list, on fakes; and what a fingerprint is taken of."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwarm.vllm.fingerprints import find
from keepwarm.vllm.source.safety_fakes import Block, Queue
from keepwarm.vllm.stock import free_blocks, insert, move


def listed(count: int) -> tuple[Any, list[Any]]:
    blocks = [Block(block_id) for block_id in range(count)]
    return Queue(blocks), blocks


def order(queue: Any) -> list[int]:
    """Forward; the way back must be the same."""
    forward = [block.block_id for block in free_blocks(queue)]
    backward, block = [], queue.fake_free_list_tail.prev_free_block
    while block is not queue.fake_free_list_head:
        backward.append(block.block_id)
        block = block.prev_free_block
    assert backward == forward[::-1]
    assert len(forward) == queue.num_free_blocks
    return forward


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 7)), max_size=30))
def test_moves_are_those_of_a_list(moves: list[tuple[int, int]]) -> None:
    queue, blocks = listed(7)
    expected = list(range(7))
    for moved, before in moves:
        target = blocks[before] if before < 7 else queue.fake_free_list_tail
        move(blocks[moved], before=target)
        if moved != before:
            expected.remove(moved)
            expected.insert(expected.index(before) if before < 7 else len(expected), moved)
        assert order(queue) == expected


@given(st.integers(0, 4), st.integers(0, 5))
def test_blocks_are_inserted_in_their_order(count: int, before: int) -> None:
    queue, blocks = listed(5)
    new = [Block(10 + index) for index in range(count)]
    insert(queue, new, before=blocks[before] if before < 5 else queue.fake_free_list_tail)  # type: ignore[arg-type]
    expected = list(range(5))
    expected[before:before] = [block.block_id for block in new]
    assert order(queue) == expected


def test_a_block_that_is_not_in_the_list_is_refused_and_nothing_moves() -> None:
    queue, blocks = listed(3)
    outside: Any = Block(9)
    with pytest.raises(LookupError, match=r"block (9|0 or 9|9 or 0) is not in"):
        insert(queue, [Block(10)], before=outside)  # type: ignore[list-item]
    for moved, before in ((outside, blocks[0]), (blocks[0], outside)):
        with pytest.raises(LookupError, match=r"block (9|0 or 9|9 or 0) is not in"):
            move(moved, before=before)
    assert order(queue) == [0, 1, 2]


SOURCE = """
class Pool:
    @property
    def size(self):
        return 1

    def take(self, n):
        return n


def free():
    pass
"""


def test_a_fingerprint_holds_the_source_and_not_where_it_stands() -> None:
    names = ("Pool", "Pool.size", "Pool.take", "free", "gone")
    found = find(SOURCE, names)
    assert set(found) == {"Pool", "Pool.size", "Pool.take", "free"}
    assert SOURCE.splitlines()[found["Pool.size"].first_line - 1].strip() == "@property"
    moved = find("# a line more\n" + SOURCE, names)
    assert {name: place.digest for name, place in moved.items()} == {n: p.digest for n, p in found.items()}
    changed = find(SOURCE.replace("return n", "return n + 1"), names)
    assert {name for name in found if changed[name].digest != found[name].digest} == {"Pool", "Pool.take"}


def test_what_stands_twice_is_not_found() -> None:
    assert "free" not in find(SOURCE + "\n\ndef free():\n    return 2\n", ["free"])
    with pytest.raises(SyntaxError):
        find("def free(:", ["free"])
