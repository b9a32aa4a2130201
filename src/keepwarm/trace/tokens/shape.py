"""What of a Hugging Face tokenizer allows texts to be cut, and how the parts must be encoded."""

from __future__ import annotations

import enum
import json
import re
from itertools import pairwise
from typing import Any, NamedTuple

import tokenizers

from keepwarm.trace.tokens.base import Cuts
from keepwarm.trace.tokens.boundaries import LETTERS, always_splits, never_joins
from keepwarm.trace.tokens.word_trie import one_of

# What the library takes for white space when a token swallows its neighbours.
_WHITE = r"[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
# The regex of the ByteLevel pre-tokenizer.
_BYTE_LEVEL = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
# Normalizers that work on a text as on its halves, if it is cut before a blank or a line feed.
_LOCAL_NORMALIZERS = {"NFC", "NFD", "NFKC", "NFKD"}
# Pre-tokenizers that look at single characters, neither letters nor white space.
_LOCAL_SPLITTERS = {"Digits", "Punctuation"}
_WORD_SPLITTERS = {"Whitespace", "WhitespaceSplit", "BertPreTokenizer"}
_BYTES = {" ": "\u0120", "\n": "\u010a"}  # how the byte-level alphabet writes them
_LONGEST_TOKEN = 200


class Shape(NamedTuple):
    """``left_mark``: a token to stand left of parts that do not begin their text ("": none needed).

    ``drops_blank``: a part after an inner cut is encoded without the blank it begins with.
    """

    cuts: Cuts
    left_mark: str
    drops_blank: bool


def shape_of(model: tokenizers.Tokenizer) -> Shape:
    """How texts may be cut for ``model``: only where it is certain that nothing changes."""
    normalizers, splitters = _stages(model.normalizer), _stages(model.pre_tokenizer)
    tokens = [token for token in model.get_added_tokens_decoder().values() if token.content]
    cut_at = _cut_tokens(tokens, keeps_text=not normalizers)
    kept = {token.content for token in cut_at}
    inside = _inside(model, normalizers, splitters, [token for token in tokens if token.content not in kept])
    drops_blank = any(step["type"] == "Prepend" for step in normalizers)
    first_only = any(
        step["type"] == "Metaspace" and step.get("prepend_scheme") == "first" for step in splitters
    )
    pattern = one_of({token.content: _WHITE + "*" if token.rstrip else "" for token in cut_at})
    cuts = Cuts(
        tokens=re.compile(pattern) if pattern else None,
        inside=re.compile(inside) if inside else None,
        by_place=(first_only and bool(cut_at)) or (drops_blank and bool(inside)),
    )
    mark = next((token.content for token in cut_at if not token.rstrip), "")
    if first_only and not mark:
        cuts = cuts._replace(tokens=None)
    return Shape(cuts, mark if first_only else "", drops_blank)


def _stages(step: Any) -> list[dict[str, Any]]:
    """The settings of a normalizer or pre-tokenizer, sequences flattened."""
    return _flattened(json.loads(step.__getstate__())) if step is not None else []


def _flattened(step: dict[str, Any]) -> list[dict[str, Any]]:
    if step.get("type") != "Sequence":
        return [step]
    inner = step.get("normalizers") or step.get("pretokenizers") or []
    return [found for item in inner for found in _flattened(item)]


def _cut_tokens(tokens: list[tokenizers.AddedToken], *, keeps_text: bool) -> list[tokenizers.AddedToken]:
    """Added tokens that are found wherever they stand, whatever stands around.

    The library first finds tokens that are not normalized, leftmost and longest first, then the
    others in the normalized text between. A token is certain to be found if no other can overlap
    its beginning or hold it, and, for the second kind, if none of the first kind overlaps it at all.
    """
    contents = [token.content for token in tokens]
    endings = {content[i:] for content in contents for i in range(1, len(content))}
    early = [token.content for token in tokens if not token.normalized]
    beginnings = {content[:i] for content in early for i in range(1, len(content))}
    everything = "\0".join(contents)
    words_matter = any(token.single_word for token in tokens)
    whites_matter = any(content[0].isspace() for content in contents)
    found = []
    for token in tokens:
        text = token.content
        inner = range(1, len(text))
        certain = (
            3 <= len(text) <= _LONGEST_TOKEN
            and not text.isalnum()
            and not token.single_word
            and everything.count(text) == 1
            and not any(text[:i] in endings for i in inner)
            and not (words_matter and (_is_word(text[0]) or _is_word(text[-1])))
            and not (token.rstrip and whites_matter)
        )
        if certain and token.normalized:
            certain = keeps_text and not any(text[i:] in beginnings for i in inner)
            certain = certain and not any(other in text for other in early)
        if certain and not text[0].isspace():
            found.append(token)
    return found


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_" or not char.isascii()


def _inside(
    model: tokenizers.Tokenizer,
    normalizers: list[dict[str, Any]],
    splitters: list[dict[str, Any]],
    uncut: list[tokenizers.AddedToken],
) -> str:
    """The regex of inner cuts: a letter, before a blank or line feed where that is proved ("": nowhere)."""
    if any(token.single_word or token.lstrip or token.rstrip for token in uncut):
        return ""
    prepends = any(
        step["type"] in ("Prepend", "Metaspace") or step.get("add_prefix_space")
        for step in (*normalizers, *splitters)
    )
    rights = [
        right
        for right in (" ", "\n")
        if not (right == "\n" and prepends)
        and not any(_joins(token.content, right) for token in uncut)
        and _is_boundary(model, normalizers, splitters, right, [token.content for token in uncut])
    ]
    if not rights:
        return ""
    if any(step["type"] == "Prepend" for step in normalizers):
        return "[A-Za-z](?= [A-Za-z])"
    return f"[A-Za-z](?=[{''.join(rights)}])"


def _joins(text: str, right: str) -> bool:
    return any(a in LETTERS and b == right for a, b in pairwise(text))


def _is_boundary(
    model: tokenizers.Tokenizer,
    normalizers: list[dict[str, Any]],
    splitters: list[dict[str, Any]],
    right: str,
    uncut: list[str],
) -> bool:
    """Is a text always encoded as its halves, cut between a letter and ``right``?"""
    seen = right
    for step in normalizers:
        if step["type"] == "Replace":
            old = step["pattern"].get("String", "")
            if len(old) != 1 or old in LETTERS or not step["content"]:
                return False
            seen = step["content"] if old == seen else seen
        elif step["type"] == "Prepend":
            if step["prepend"] != "\u2581":
                return False
        elif step["type"] not in _LOCAL_NORMALIZERS:
            return False
    if len(seen) != 1 or any(_joins(content, seen) for content in uncut):
        return False
    splits = False
    for step in splitters:
        effect = _effect_of(step, seen)
        if effect is _Effect.UNSURE:
            return False
        splits = splits or effect is _Effect.SPLITS
        if step["type"] == "Metaspace" and seen == " ":
            seen = step["replacement"]
    if splits:
        return _is_plain_bpe(model)
    return _is_plain_bpe(model) and _vocabulary_splits(model, seen, splitters)


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
        right = _BYTES[right]
    vocabulary = model.get_vocab(with_added_tokens=False)
    if right not in vocabulary or not all(letter in vocabulary for letter in LETTERS):
        return False
    crossing = re.compile(f"[A-Za-z]{re.escape(right)}")
    return not any(crossing.search(piece) for piece in vocabulary)
