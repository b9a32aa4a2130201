from __future__ import annotations

import hashlib
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwarm._errors import InputError
from keepwarm.trace.hashes import block_hashes, hashed_prompt_blocks
from keepwarm.trace.records import HashedPrompt


def start_of(text: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


MASK = 2**64 - 1
# First eight bytes of BLAKE2b, little-endian, over what is equal in the whole prompt.
EVEN = start_of(b"6:tokens1:40:-1:-1:")
ODD = start_of(b"6:tokens1:31:m1:l1:s")
RECORDED = start_of(b"3:ids3:5121:s")

token_lists = st.lists(st.integers(0, 2), max_size=24)
any_text = st.none() | st.text(max_size=3)


def ids(*tokens: int) -> np.ndarray:
    return np.array(tokens, dtype=np.int32)


@given(token_lists, token_lists, st.integers(1, 5))
def test_equal_exactly_when_the_whole_prefix_is(left: list[int], right: list[int], block_size: int) -> None:
    left_hashes = block_hashes(ids(*left), block_size)
    right_hashes = block_hashes(ids(*right), block_size)
    assert len(left_hashes) == len(left) // block_size
    for i, j in itertools.product(range(len(left_hashes)), range(len(right_hashes))):
        same = left[: (i + 1) * block_size] == right[: (j + 1) * block_size]
        assert (left_hashes[i] == right_hashes[j]) == same


@given(*[st.tuples(any_text, any_text, st.text(max_size=3))] * 2)
def test_salt_adapter_and_seed_separate_and_nothing_else_does(
    left: tuple[str | None, str | None, str], right: tuple[str | None, str | None, str]
) -> None:
    prompt = ids(*range(12))
    hashes = [block_hashes(prompt, 4, salt=salt, lora=lora, seed=seed) for salt, lora, seed in (left, right)]
    assert set((hashes[0] == hashes[1]).tolist()) == {left == right}


def test_salt_and_adapter_of_the_same_name_differ() -> None:
    prompt = ids(*range(8))
    assert block_hashes(prompt, 4, salt="a")[0] != block_hashes(prompt, 4, lora="a")[0]


def test_block_sizes_do_not_share_hashes() -> None:
    prompt = ids(*range(32))
    assert not set(block_hashes(prompt, 8).tolist()) & set(block_hashes(prompt, 16).tolist())


@pytest.mark.parametrize("block_size", [2, 3, 6])
def test_the_order_of_tokens_is_seen_within_and_across_blocks(block_size: int) -> None:
    orders = itertools.permutations(range(6))
    assert len({int(block_hashes(ids(*order), block_size)[-1]) for order in orders}) == 720


@pytest.mark.parametrize("block_size", [1, 15, 16])
def test_no_collision_among_half_a_million_similar_prefixes(block_size: int) -> None:
    prompts = np.zeros((1024, 512 * block_size), dtype=np.int32)
    prompts[:, 0] = np.arange(1024)  # one token apart, all else equal
    hashes = np.concatenate([block_hashes(prompt, block_size) for prompt in prompts])
    assert len(np.unique(hashes)) == 1024 * 512


def test_every_bit_of_the_hash_varies() -> None:
    hashes = block_hashes(np.zeros(4096, dtype=np.int32), 1)
    ones = np.unpackbits(hashes.view(np.uint8)).reshape(-1, 64).mean(axis=0)
    assert (abs(ones - 0.5) < 0.05).all()


def restated(words: list[int], words_per_block: int, start: int) -> list[int]:
    """The definition in plain integers."""
    total, sums = start, []
    for place, word in enumerate(words, start=1):
        mixed = word + place * 0x9E3779B97F4A7C15 & MASK
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
            mixed = (mixed ^ mixed >> shift) * factor & MASK
        total = total + mixed & MASK
        if place % words_per_block == 0:
            sums.append(total)
    return sums


def test_values_are_the_same_in_every_run_and_on_every_platform() -> None:
    prompt = ids(1, 2, 3, 4, 5, 151_643, 0, -1)
    pairs = [2 << 32 | 1, 4 << 32 | 3, 151_643 << 32 | 5, 0xFFFFFFFF << 32]
    assert block_hashes(prompt, 4).tolist() == restated(pairs, 2, EVEN)
    assert block_hashes(prompt, 3, salt="s", lora="l", seed="m").tolist() == restated(
        [1, 2, 3, 4, 5, 151_643], 3, ODD
    )
    hashed = HashedPrompt(hash_ids=[7, 8], block_size=512, input_tokens=1024, scope="s")
    assert hashed_prompt_blocks(hashed).tolist() == restated([7, 8], 1, RECORDED)


def test_a_view_with_strides_hashes_like_its_copy() -> None:
    wide = np.arange(64, dtype=np.int32)
    assert (block_hashes(wide[::2], 8) == block_hashes(wide[::2].copy(), 8)).all()


@pytest.mark.parametrize("tokens", [[], [1, 2, 3]])
def test_a_prompt_shorter_than_a_block_has_none(tokens: list[int]) -> None:
    assert block_hashes(ids(*tokens), 4).shape == (0,)


def test_bad_arguments_are_named() -> None:
    with pytest.raises(InputError, match="block size 0 is not positive"):
        block_hashes(ids(1), 0)
    with pytest.raises(InputError, match=r"shape \(1, 1\)"):
        block_hashes(ids(1).reshape(1, 1), 4)
    with pytest.raises(InputError, match="block size -1 is not positive"):
        hashed_prompt_blocks(HashedPrompt(hash_ids=[1], block_size=-1, input_tokens=4))


def recorded(*hash_ids: int, tokens: int, scope: str | None = None) -> list[int]:
    prompt = HashedPrompt(hash_ids=list(hash_ids), block_size=4, input_tokens=tokens, scope=scope)
    return hashed_prompt_blocks(prompt).tolist()


def test_recorded_ids_count_only_where_the_block_is_full() -> None:
    assert len(recorded(1, 2, 3, tokens=12)) == 3
    assert recorded(1, 2, 3, tokens=11) == recorded(1, 2, tokens=8)
    assert recorded(1, tokens=40) == recorded(1, tokens=4)
    assert recorded(1, tokens=3) == []


def test_recorded_ids_of_different_scopes_share_nothing() -> None:
    scopes = ["a", "b", "", None]
    assert len({recorded(1, tokens=4, scope=scope)[0] for scope in scopes}) == len(scopes)


def test_recorded_ids_that_name_content_only_are_chained() -> None:
    first, second = recorded(1, 9, tokens=8), recorded(2, 9, tokens=8)
    assert first[1] != second[1]
    assert len(set(recorded(5, 5, 5, tokens=12))) == 3


def test_recorded_ids_may_be_any_integer() -> None:
    hashes = {recorded(block_id, tokens=4)[0] for block_id in (-1, 0, 1, 2**63, 2**64 - 2)}
    assert len(hashes) == 5


def test_recorded_ids_of_any_length_are_told_apart() -> None:
    """SHA-256 as a number, say; and a negative id is not the unsigned one of equal bits."""
    several = [0, 2**64, 2**80, -(2**70), -1, 2**64 - 1, 2**63, -(2**63), 2**256 - 1, -(2**256)]
    hashes = [
        hashed_prompt_blocks(HashedPrompt(hash_ids=[each, other], block_size=1, input_tokens=2))[0]
        for each in several
        for other in (7, 2**90)  # whatever else is in the prompt
    ]
    assert len(set(hashes)) == len(several)
    assert hashes[::2] == hashes[1::2]
