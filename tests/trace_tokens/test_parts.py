"""Texts encoded part by part give, token for token, what they give as a whole."""

from __future__ import annotations

import functools
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepwarm._errors import TemplateError
from keepwarm.trace.records import Request
from keepwarm.trace.render import Renderer, builtin_renderer, load_renderer
from keepwarm.trace.tokens import Cuts, Encoded, PartCache, Tokenizer
from keepwarm.trace.tokens import cache as cache_module
from tests.trace_tokens import synthetic

WORDS = [
    *(
        "the",
        "cat",
        "a",
        "b",
        "ab",
        "The",
        "isn't",
        "I'll",
        "é",
        "e\u0301",
        "ß",
        "中文",
        "ﬁ",
        "x_y",
        "12345",
        "6",
    ),
    *(
        " ",
        " ",
        " ",
        " ",
        "  ",
        "\n",
        "\n\n",
        "\t",
        "\r\n",
        " \n",
        "\u00a0",
        "\u3000",
        "\u2581",
        "\u0301",
        "\u0120",
    ),
    *(",", ".", "...", "{", '"', "'", "<", "|", ">", "<|", "|>", "-->", "()", "\\n", "\U0001f600", "\ufffd"),
    *(
        "<|a|>",
        "<|bb|>",
        "<|A|>",
        "[a]x",
        "<|im_start|>",
        "<|im_end|>\n",
        "<s>",
        "</s>",
        "<|eot_id|>",
        "<bos>",
    ),
    *(
        "<|begin_of_text|>",
        "<｜User｜>",
        "<｜end▁of▁sentence｜>",
        "<start_of_turn>",
        "<unused7>",
        "[SEP]",
        "[multimodal]",
    ),
]
TEXT = st.lists(st.sampled_from(WORDS), max_size=60).map("".join)


@pytest.fixture(autouse=True)
def short_parts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut after a few characters, so that short texts are cut in many places."""
    if "traffic" not in request.fixturenames:
        monkeypatch.setattr(cache_module, "CHUNK_CHARS", 3)


def check(tokenizer: Tokenizer, cache: PartCache, text: str) -> None:
    whole = tokenizer.encode(text)
    assert np.array_equal(cache.ids(text), whole.ids)
    encoded = cache.encode(text)
    assert np.array_equal(encoded.ids, whole.ids)
    starts = encoded.char_starts
    assert len(starts) == len(whole.ids)
    assert np.all(np.diff(starts) >= 0)
    assert not len(starts) or (starts[0] >= 0 and starts[-1] < max(len(text), 1))


@functools.cache
def made(kind: str) -> tuple[Tokenizer, PartCache]:
    tokenizer = synthetic.make(kind)
    return tokenizer, PartCache(tokenizer, 1 << 20)


@pytest.mark.parametrize("kind", synthetic.KINDS)
@settings(max_examples=50)
@given(texts=st.lists(TEXT, min_size=1, max_size=3))
def test_small_tokenizers_of_every_kind(kind: str, texts: list[str]) -> None:
    tokenizer, cache = made(kind)
    for text in texts:
        check(tokenizer, cache, text)


@settings(max_examples=40)
@given(text=TEXT)
def test_real_tokenizers(tokenizer: Tokenizer, text: str) -> None:
    check(tokenizer, _cache(tokenizer), text)


@functools.cache
def _cache(tokenizer: Tokenizer) -> PartCache:
    return PartCache(tokenizer, 1 << 22)


CUTS = {
    "byte level": (True, True),
    "llama 3": (True, True),
    "metaspace first": (True, True),
    "llama 2": (True, None),
    "gemma": (True, None),
    "right-stripping tokens": (True, True),
    "words with the blank after them": (True, False),
    "merged with previous": (True, False),
    "byte level, no regex": (True, False),
    "unmatched letters": (True, False),
    "look-behind": (True, False),
    "anchored": (True, False),
    "bert": (False, False),
    "unigram": (False, False),
    "single words": (True, False),
    "tokens with words in them": (True, False),
    "byte level, lower case": (True, False),
}


@pytest.mark.parametrize("kind", CUTS)
def test_where_texts_are_cut(kind: str) -> None:
    """The cuts are neither missing nor too bold (None: it depends on what training found)."""
    at_tokens, inside = CUTS[kind]
    cuts = made(kind)[0].cuts
    assert (cuts.tokens is not None) == at_tokens or kind in ("bert", "unigram")
    cuts_words = cuts.inside is not None and cuts.inside.search("the cat") is not None
    assert inside is None or cuts_words == inside


def test_every_real_tokenizer_is_cut_in_both_ways(tokenizer: Tokenizer) -> None:
    assert tokenizer.cuts.tokens is not None
    assert tokenizer.cuts.inside is not None


def test_traffic_under_the_tokenizers_own_template(tokenizer: Tokenizer, traffic: list[Request]) -> None:
    """All labelled traffic, each request as it is served by the model of the tokenizer."""
    renderer = _own_renderer(tokenizer)
    cache = PartCache(tokenizer, 1 << 26)
    encoded_some = 0
    for request in traffic:
        try:
            text = renderer.text(request)
        except TemplateError:
            continue
        encoded_some += 1
        whole, ours = tokenizer.encode(text), cache.encode(text)
        assert np.array_equal(ours.ids, whole.ids)
        assert np.array_equal(ours.char_starts, whole.char_starts)
        assert np.array_equal(cache.ids(text), whole.ids)
    assert encoded_some > 50


def _own_renderer(tokenizer: Tokenizer) -> Renderer:
    try:
        return load_renderer(tokenizer.name)
    except TemplateError:
        return builtin_renderer()


def test_a_text_without_special_tokens_that_only_grows_is_not_encoded_again() -> None:
    tokenizer, _ = made("llama 3")
    counting = _Counting(tokenizer)
    cache = PartCache(counting, 1 << 22)
    draw = random.Random(7)
    text = ""
    for _ in range(50):
        text += "[Q]" + " ".join(draw.choices(["the", "cat", "sat", "on"], k=30)) + "[/Q]"
        assert np.array_equal(cache.ids(text), tokenizer.encode(text).ids)
    assert counting.chars < 2.5 * len(text)


def test_what_is_kept_is_bounded_and_stays_right() -> None:
    tokenizer, _ = made("byte level")
    cache = PartCache(tokenizer, 40_000)
    draw = random.Random(3)
    texts = ["<|a|>".join(draw.choices(WORDS, k=40)) for _ in range(60)]
    for text in [*texts, *texts[:20], *texts]:
        check(tokenizer, cache, text)
        kept = [*cache._young.items(), *cache._old.items()]
        assert sum(len(key) + 8 * len(part.ids) for key, part in kept) <= 40_000


class _Counting(Tokenizer):
    """Counts the characters that reach the tokenizer."""

    def __init__(self, inner: Tokenizer) -> None:
        self._inner = inner
        self.name, self.exact, self.note, self.special_tokens = "counting", True, "", {}
        self.chars = 0

    @property
    def cuts(self) -> Cuts:
        return self._inner.cuts

    def encode(self, text: str) -> Encoded:
        self.chars += len(text)
        return self._inner.encode(text)
