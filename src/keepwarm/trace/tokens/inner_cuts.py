"""Where a text may be cut between its words: only where it is proved that nothing changes."""

from __future__ import annotations

import enum
import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple, Self

import tokenizers

from keepwarm.trace.tokens.boundaries import LETTERS, always_splits, never_joins

# The regex of the ByteLevel pre-tokenizer.
_BYTE_LEVEL = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
# Normalizers that work on a text as on its halves, if it is cut before a blank or a line feed.
_LOCAL_NORMALIZERS = {"NFC", "NFD", "NFKC", "NFKD"}
# Pre-tokenizers that look at single characters, neither letters nor white space.
_LOCAL_SPLITTERS = {"Digits", "Punctuation"}
_WORD_SPLITTERS = {"Whitespace", "WhitespaceSplit", "BertPreTokenizer"}
_BYTES = {" ": "\u0120", "\n": "\u010a"}  # how the byte-level alphabet writes them


class Steps(NamedTuple):
    """What a tokenizer does to a text before its model sees words, as the library serialises it."""

    normalizers: list[dict[str, Any]]
    splitters: list[dict[str, Any]]

    @classmethod
    def of(cls, model: tokenizers.Tokenizer) -> Self:
        return cls(_flattened(model.normalizer), _flattened(model.pre_tokenizer))

    @property
    def prepends(self) -> bool:
        """Whether a text, so perhaps each of its parts, gets something in front."""
        return any(
            step["type"] in ("Prepend", "Metaspace") or step.get("add_prefix_space")
            for step in (*self.normalizers, *self.splitters)
        )

    @property
    def prepends_always(self) -> bool:
        """Whether it does so even where a blank is there already."""
        return any(step["type"] == "Prepend" for step in self.normalizers)


def _flattened(stage: Any) -> list[dict[str, Any]]:
    """The settings of a normalizer or pre-tokenizer, sequences flattened."""
    return list(_leaves(json.loads(stage.__getstate__()))) if stage is not None else []


def _leaves(step: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if step.get("type") != "Sequence":
        yield step
        return
    for inner in step.get("normalizers") or step.get("pretokenizers") or []:
        yield from _leaves(inner)


def inner_cuts(model: tokenizers.Tokenizer, steps: Steps, uncut: list[tokenizers.AddedToken]) -> str:
    """The regex of inner cuts: a letter, before a blank or line feed where that is proved ("": nowhere).

    ``uncut``: the added tokens that may stand across a cut.
    """
    if any(token.single_word or token.lstrip or token.rstrip for token in uncut):
        return ""
    contents = [token.content for token in uncut]
    rights = "".join(
        right
        for right in " \n"
        if not (right == "\n" and steps.prepends) and _is_boundary(model, steps, right, contents)
    )
    if not rights:
        return ""
    return "[A-Za-z](?= [A-Za-z])" if steps.prepends_always else f"[A-Za-z](?=[{rights}])"


def _is_boundary(model: tokenizers.Tokenizer, steps: Steps, right: str, uncut: list[str]) -> bool:
    """Is a text always encoded as its halves, cut between a letter and ``right``?"""
    seen = _normalized(right, steps.normalizers)
    if seen is None or any(_joins(content, right) or _joins(content, seen) for content in uncut):
        return False
    splits = False
    for step in steps.splitters:
        effect = _effect_of(step, seen)
        if effect is _Effect.UNSURE:
            return False
        splits = splits or effect is _Effect.SPLITS
        if step["type"] == "Metaspace" and seen == " ":
            seen = step["replacement"]
    return _is_plain_bpe(model) and (splits or _vocabulary_splits(model, seen, steps.splitters))


def _normalized(right: str, normalizers: list[dict[str, Any]]) -> str | None:
    """The character that ``right`` becomes; None unless both halves of a text come out as in the whole."""
    for step in normalizers:
        if step["type"] == "Replace":
            old = step["pattern"].get("String", "")
            if len(old) != 1 or old in LETTERS or not step["content"]:
                return None
            right = step["content"] if old == right else right
        elif step["type"] == "Prepend":
            if step["prepend"] != "\u2581":
                return None
        elif step["type"] not in _LOCAL_NORMALIZERS:
            return None
    return right if len(right) == 1 else None


def _joins(text: str, right: str) -> bool:
    """Whether a letter and ``right`` stand side by side in ``text``."""
    return any(a in LETTERS and b == right for a, b in pairwise(text))


class _Effect(enum.Enum):
    """What a pre-tokenizer does between a letter and the character right of it."""

    SPLITS = "always splits there"
    KEEPS = "works on both sides alike, whether the text is cut there or not"
    UNSURE = "may give other words if the text is cut there"


def _effect_of(step: dict[str, Any], right: str) -> _Effect:
    kind = step["type"]
    if kind == "Split":
        return _effect_of_split(step, right)
    if kind == "ByteLevel":
        splits = step.get("use_regex", True) and always_splits(_BYTE_LEVEL, right)
        return _Effect.SPLITS if splits else _Effect.KEEPS
    if kind == "Metaspace" and right == " ":
        return _Effect.SPLITS if step.get("split", True) else _Effect.KEEPS
    if kind in _WORD_SPLITTERS:
        return _Effect.SPLITS
    return _Effect.KEEPS if kind in _LOCAL_SPLITTERS else _Effect.UNSURE


def _effect_of_split(step: dict[str, Any], right: str) -> _Effect:
    regex, text = step["pattern"].get("Regex"), step["pattern"].get("String", "")
    if regex is None:
        is_elsewhere = len(text) == 1 and text != right and text not in LETTERS
        return _Effect.KEEPS if is_elsewhere else _Effect.UNSURE
    if (step["behavior"], step["invert"]) not in (("Isolated", False), ("Removed", True)):
        return _Effect.UNSURE
    if always_splits(regex, right):
        return _Effect.SPLITS
    return _Effect.KEEPS if never_joins(regex, right) else _Effect.UNSURE


def _is_plain_bpe(model: tokenizers.Tokenizer) -> bool:
    """Byte-pair encoding that treats a word the same wherever it stands."""
    bpe = model.model
    return (
        isinstance(bpe, tokenizers.models.BPE)
        and not bpe.dropout
        and not bpe.continuing_subword_prefix
        and not bpe.end_of_word_suffix
    )


def _vocabulary_splits(model: tokenizers.Tokenizer, right: str, splitters: list[dict[str, Any]]) -> bool:
    """No piece of the vocabulary holds a letter followed by ``right``, so no merge crosses the cut."""
    if getattr(model.model, "ignore_merges", True):
        return False
    if any(step["type"] == "ByteLevel" for step in splitters):
        right = _BYTES.get(right, "")
    vocabulary = model.get_vocab(with_added_tokens=False)
    if right not in vocabulary or not all(letter in vocabulary for letter in LETTERS):
        return False
    crossing = re.compile(f"[A-Za-z]{re.escape(right)}")
    return not any(crossing.search(piece) for piece in vocabulary)
