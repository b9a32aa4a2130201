from __future__ import annotations

import string

import tokenizers
from tokenizers import models, normalizers, pre_tokenizers

from keepwarm.trace.tokens.shape import shape_of

BYTES = "\u0120\u010a\u2581"  # blank and line feed of the byte-level alphabet, and another blank


def test_a_blank_that_becomes_no_byte_of_the_alphabet_is_no_cut() -> None:
    vocabulary = {piece: number for number, piece in enumerate(string.ascii_letters + BYTES)}
    model = tokenizers.Tokenizer(models.BPE(vocabulary, [], ignore_merges=False))
    model.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    as_it_is = shape_of(model).cuts.inside
    assert as_it_is is not None
    assert as_it_is.search("a b")
    assert as_it_is.search("a\nb")
    model.normalizer = normalizers.Replace(" ", "\u2581")
    replaced = shape_of(model).cuts.inside
    assert replaced is not None
    assert replaced.search("a\nb")
    assert not replaced.search("a b")
