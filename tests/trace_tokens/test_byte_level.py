"""Starts of byte-level tokens from their lengths, against the library's own offsets."""

from __future__ import annotations

import numpy as np
import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st

from keepwarm.trace.tokens import builtin_tokenizer
from keepwarm.trace.tokens.base import Place
from keepwarm.trace.tokens.byte_level import byte_lengths

TOKENIZER = builtin_tokenizer()


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_starts_equal_the_offsets_of_the_library(text: str) -> None:
    [encoded] = TOKENIZER.encode_parts([text], [Place.START])
    starts = TOKENIZER.starts_of(text, encoded.ids)
    assert starts is not None
    assert np.array_equal(starts, encoded.char_starts)


@pytest.mark.parametrize("text", ["plain", "<|im_start|>user\nnaïve 東京 🙂<|im_end|>", ""])
def test_special_tokens_and_many_byte_characters_count_right(text: str) -> None:
    [encoded] = TOKENIZER.encode_parts([text], [Place.START])
    starts = TOKENIZER.starts_of(text, encoded.ids)
    assert starts is not None
    assert starts.tolist() == encoded.char_starts.tolist()


def test_ids_that_do_not_spell_the_text_are_refused() -> None:
    ids = TOKENIZER.encode("some text").ids
    assert TOKENIZER.starts_of("another text", ids) is None


def test_other_kinds_of_tokenizers_have_no_lengths() -> None:
    word_level = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "[UNK]": 1}, unk_token="[UNK]"))
    assert byte_lengths(word_level) is None
