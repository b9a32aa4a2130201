"""Texts that hold the same things, written differently: white space, key order, another order."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from keepwarm.diagnose.values import Kind, SlotType
from keepwarm.diagnose.words import split_lines, split_words, squeeze

_CUT_OFF = tuple((begin, end) for begin in ("", "{", "[", '{"', '["') for end in ("", "}", "]", '"}', '"]'))
_KEYED = re.compile(r"^\s*(['\"]?)([\w.-]+)\1\s*[:=]")
_BRACKETS_TRIED = 32
_MIN_CHARS = 3  # shorter values have nothing to reorder
_MIN_ITEMS = 3  # two words change places in ordinary text
_KEYED_SHARE = 0.6  # of members: values may hold the separator themselves
_DECODER = json.JSONDecoder()


def same_things(distinct: Sequence[str]) -> Kind | None:
    """Equal JSON, or the same lines or words, in another order; ``None`` if it is neither."""
    if len(distinct) < 2 or any(len(value) < _MIN_CHARS for value in distinct):
        return None
    if len({squeeze(value) for value in distinct}) == 1:
        return Kind(SlotType.WHITESPACE, 0.95)
    keyed = [json_shape(value) for value in distinct]
    if keyed[0] is not None and all(shape == keyed[0] for shape in keyed):
        return Kind(SlotType.KEY_ORDER, 0.95)
    for split in (_items, bare_words):
        bags = [Counter(split(value)) for value in distinct]
        if bags[0].total() >= _MIN_ITEMS and all(bag == bags[0] for bag in bags):
            return Kind(SlotType.KEY_ORDER if _is_mapping(distinct[0]) else SlotType.ORDER, 0.9)
    return None


def bare_words(text: str) -> list[str]:
    """Words without white space and punctuation."""
    return [word for word in split_words(text) if word[0].isalnum()]


def _items(text: str) -> list[str]:
    """Lines without numbering, bullets and separators at their ends."""
    lines = (line.strip().strip(",;") for line in split_lines(text))
    return [re.sub(r"^(?:[-*•]|\(?\d+[.):])\s*", "", line) for line in lines if line]


def _is_mapping(text: str) -> bool:
    """Whether lines, or members between commas, are keys with values, each key once."""
    for parts in (text.splitlines(), re.split(r"[,{}]", text)):
        members = [part for part in parts if part.strip(" \t\r\n{}[](),")]
        keys = [match[2] for part in members if (match := _KEYED.match(part))]
        if len(keys) > 1 and len(keys) >= _KEYED_SHARE * len(members) and len(set(keys)) == len(keys):
            return True
    return False


def json_shape(text: str) -> str | None:
    """A form equal for equal JSON whatever its key order and spacing; ``None`` if it is no JSON.

    A slot may cut through an object or a list: what texts have in common at its ends is given back.
    """
    stripped = text.strip().rstrip(",")
    for begin, end in _CUT_OFF:
        try:
            value = json.loads(begin + stripped + end)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) or (isinstance(value, list) and len(value) > 1):
            return _canonical(value)
    return None


def json_around(text: str, start: int, end: int) -> tuple[int, int, str] | None:
    """The widest JSON object or list in ``text`` that holds ``start:end``: its range and canonical form."""
    tried = 0
    for match in re.finditer(r"[{\[]", text[: start + 1]):
        tried += 1
        if tried > _BRACKETS_TRIED:
            return None
        try:
            value, stop = _DECODER.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            continue
        if stop >= end:
            return match.start(), stop, _canonical(value)
    return None


def _canonical(value: Any) -> str:
    return json.dumps(_plain(value), sort_keys=True, ensure_ascii=False)


def _plain(value: Any) -> Any:
    """Numbers that are equal written alike."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
