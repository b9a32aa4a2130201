"""Small tokenizers of every kind, each with something that makes cutting texts risky."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

from keepwarm.trace.tokens.hugging_face import HuggingFaceTokenizer

_TEXTS = [
    "the cat sat on the mat and the dog ran to the man",
    "a b c ab bc abc  ab   the\nthe end\n\nof it, isn't it? 12 345 6789",
    "é ß ﬁ 中文 naïve Straße; \tx_y(z) -> {'a': 1}",
]
_LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
PLAIN = [AddedToken("<|a|>", normalized=False), AddedToken("<|bb|>", normalized=False)]


def _bpe(normalizer: Any, pre_tokenizer: Any, tokens: list[AddedToken], **options: Any) -> Tokenizer:
    model = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=False, **options))
    model.normalizer, model.pre_tokenizer = normalizer, pre_tokenizer
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        show_progress=False,
        special_tokens=["<unk>"],
        initial_alphabet=list("\u2581\u0120abc"),
    )
    model.train_from_iterator([*_TEXTS, "\u2581the\u2581cat"], trainer)
    model.add_tokens(tokens)
    return model


def _byte_level(*tokens: AddedToken, normalizer: Any = None, **options: Any) -> Tokenizer:
    return _bpe(normalizer, pre_tokenizers.ByteLevel(**{"add_prefix_space": False, **options}), list(tokens))


def _metaspace(scheme: str, *, split: bool) -> Tokenizer:
    return _bpe(None, pre_tokenizers.Metaspace(prepend_scheme=scheme, split=split), PLAIN)


def _llama2() -> Tokenizer:
    return _bpe(
        normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")]), None, PLAIN
    )


def _gemma() -> Tokenizer:
    tokens = [*PLAIN, AddedToken("\n\n", normalized=False), AddedToken("\u2581\u2581", normalized=False)]
    splitter = pre_tokenizers.Split(" ", "merged_with_previous")
    return _bpe(normalizers.Replace(" ", "\u2581"), splitter, tokens)


def _crossing_words() -> Tokenizer:
    """Its vocabulary holds pieces over the blank, so no inner cut is right."""
    return _bpe(normalizers.Replace(" ", "\u2581"), None, PLAIN)


def _split(regex: str, behavior: str = "isolated", *, invert: bool = False) -> Tokenizer:
    steps = [
        pre_tokenizers.Split(Regex(regex), behavior, invert),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ]
    return _bpe(None, pre_tokenizers.Sequence(steps), PLAIN)


def _bert() -> Tokenizer:
    model = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    model.normalizer, model.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(
        vocab_size=200, special_tokens=["[UNK]", "[SEP]"], show_progress=False
    )
    model.train_from_iterator(_TEXTS, trainer)
    return model


def _unigram() -> Tokenizer:
    model = Tokenizer(models.Unigram())
    model.normalizer, model.pre_tokenizer = normalizers.NFKC(), pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=120, special_tokens=["<unk>", "<|a|>"], unk_token="<unk>", show_progress=False
    )
    model.train_from_iterator(_TEXTS, trainer)
    return model


def _token(text: str, **flags: bool) -> AddedToken:
    return AddedToken(text, **{"normalized": False, **flags})


KINDS: dict[str, Callable[[], Tokenizer]] = {
    "byte level": lambda: _byte_level(*PLAIN),
    "byte level, prefix space": lambda: _byte_level(*PLAIN, add_prefix_space=True),
    "byte level, NFC": lambda: _byte_level(*PLAIN, normalizer=normalizers.NFC()),
    "byte level, lower case": lambda: _byte_level(*PLAIN, normalizer=normalizers.Lowercase()),
    "byte level, stripped": lambda: _byte_level(*PLAIN, normalizer=normalizers.Strip()),
    "byte level, no regex": lambda: _byte_level(*PLAIN, use_regex=False),
    "right-stripping tokens": lambda: _byte_level(_token("<|a|>", rstrip=True), _token("<|bb|>")),
    "right-stripping tokens, white token": lambda: _byte_level(_token("<|a|>", rstrip=True), _token("\n\n")),
    "left-stripping tokens": lambda: _byte_level(_token("<|a|>", lstrip=True), _token("<|bb|>")),
    "tokens stripping both": lambda: _byte_level(
        _token("<|a|>", lstrip=True, rstrip=True), _token("<|bb|>", rstrip=True)
    ),
    "single words": lambda: _byte_level(
        _token("<|a|>", single_word=True), _token("ab", single_word=True), _token("<|bb|>")
    ),
    "single words beside tokens that end in letters": lambda: _byte_level(
        _token("[a]x"), _token("the", single_word=True), _token("<|bb|>")
    ),
    "overlapping tokens": lambda: _byte_level(
        _token("<|a|>"), _token("|><|"), _token("<|a|><|a|>"), _token("a|")
    ),
    "tokens with words in them": lambda: _byte_level(_token("<|a|>"), _token("the cat"), _token("a b")),
    "normalized tokens": lambda: _byte_level(
        AddedToken("<|a|>", normalized=True), _token("<|bb|>"), _token("|>")
    ),
    "normalized tokens, lower case": lambda: _byte_level(
        AddedToken("<|A|>", normalized=True),
        AddedToken("<|a|>", normalized=False),
        normalizer=normalizers.Lowercase(),
    ),
    "normalized tokens, NFC": lambda: _byte_level(
        AddedToken("<|a|>", normalized=True), _token("<|bb|>"), normalizer=normalizers.NFC()
    ),
    "metaspace first": lambda: _metaspace("first", split=True),
    "metaspace first, unsplit": lambda: _metaspace("first", split=False),
    "metaspace always": lambda: _metaspace("always", split=True),
    "metaspace always, unsplit": lambda: _metaspace("always", split=False),
    "metaspace never": lambda: _metaspace("never", split=False),
    "llama 2": _llama2,
    "gemma": _gemma,
    "crossing words": _crossing_words,
    "llama 3": lambda: _split(_LLAMA3),
    "llama 3, removed and inverted": lambda: _split(_LLAMA3, "removed", invert=True),
    "removed": lambda: _split(r"\s+", "removed"),
    "words with the blank after them": lambda: _split(r"\p{L}+ ?|[^\p{L}]"),
    "merged with next": lambda: _split(r" ", "merged_with_next"),
    "merged with previous": lambda: _split(r" ", "merged_with_previous"),
    "contiguous": lambda: _split(r" ", "contiguous"),
    "unmatched letters": lambda: _split(r"\d+"),
    "lines": lambda: _split(r"[^\n]+\n?"),
    "look-behind": lambda: _split(r"(?<=a) b|\p{L}+|\s+"),
    "anchored": lambda: _split(r"^\p{L}+|\s+|\p{L}"),
    "bert": _bert,
    "unigram": _unigram,
}


def make(kind: str) -> HuggingFaceTokenizer:
    return HuggingFaceTokenizer(KINDS[kind](), name=kind, exact=True, note="", special_tokens={})
