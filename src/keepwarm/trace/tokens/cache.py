"""Encodes prompts part by part and keeps the parts: a shared prefix is encoded once."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from keepwarm.trace.prompt import Offsets, TokenIds
from keepwarm.trace.tokens.base import Encoded, Place, Tokenizer

# Texts between added tokens are cut further after this many characters.
CHUNK_CHARS = 1024
# What one kept part costs besides its text and arrays, roughly.
_OVERHEAD_BYTES = 400

# A part, with its place where the tokenizer cares about it.
Key = str | tuple[Place, str]


class _Part:
    """Ids of a part of a text, and where they start once somebody asked."""

    __slots__ = ("char_starts", "ids")

    def __init__(self, ids: TokenIds, char_starts: Offsets | None) -> None:
        self.ids = ids
        self.char_starts = char_starts


class PartCache:
    """Ids of whole texts, put together from parts that were encoded before.

    Keeps parts in two generations of half of ``limit_bytes`` each: when the younger one is full
    it becomes the older one, and what is used again moves over. Never mutates what it returned.
    """

    def __init__(self, tokenizer: Tokenizer, limit_bytes: int) -> None:
        self._tokenizer = tokenizer
        self._cuts = tokenizer.cuts
        self._limit_bytes = max(limit_bytes // 2, 1)
        self._young: dict[Key, _Part] = {}
        self._old: dict[Key, _Part] = {}
        self._young_bytes = 0

    def ids(self, text: str) -> TokenIds:
        """Token ids of ``text``. Raises ``TokenizerError``."""
        if not text:
            return np.empty(0, np.int32)
        return np.concatenate(self._ids(self._keys(text, *self._starts(text))))

    def _ids(self, keys: list[Key]) -> list[TokenIds]:
        found = [self._young.get(key) or self._older(key) for key in keys]
        missing = list(dict.fromkeys(key for key, part in zip(keys, found, strict=True) if part is None))
        if missing:
            made = dict(zip(missing, self._tokenizer.ids_of_parts(*_asked(missing)), strict=True))
            for key, ids in made.items():
                self._keep(key, _Part(ids, None))
            return [made[key] if part is None else part.ids for key, part in zip(keys, found, strict=True)]
        return [part.ids for part in found if part is not None]

    def encode(self, text: str) -> Encoded:
        """Token ids of ``text`` and where they start. Raises ``TokenizerError``."""
        if not text:
            return Encoded(np.empty(0, np.int32), np.empty(0, np.int32))
        starts, inner = self._starts(text)
        keys = self._keys(text, starts, inner)
        parts = self._with_starts(keys)
        shifts = np.repeat(np.array(starts, dtype=np.int32), [len(part.ids) for part in parts])
        ids = np.concatenate([part.ids for part in parts])
        return Encoded(ids, np.concatenate([part.char_starts for part in parts]) + shifts)

    def _with_starts(self, keys: list[Key]) -> list[Encoded]:
        found: dict[Key, Encoded] = {}
        missing: dict[Key, None] = {}
        for key, ids in zip(keys, self._ids(keys), strict=True):
            part = self._young.get(key) or self._older(key)
            char_starts = None if part is None else part.char_starts
            if char_starts is None:
                char_starts = self._tokenizer.starts_of(_text(key), ids)
                if char_starts is None:
                    missing[key] = None
                    continue
                self._keep(key, _Part(ids, char_starts))
            found[key] = Encoded(ids, char_starts)
        if missing:
            asked = list(missing)
            for key, encoded in zip(asked, self._tokenizer.encode_parts(*_asked(asked)), strict=True):
                found[key] = encoded
                self._keep(key, _Part(*encoded))
        return [found[key] for key in keys]

    def _older(self, key: Key) -> _Part | None:
        """A part of the older generation; moves it to the younger."""
        part = self._old.get(key)
        if part is not None:
            self._keep(key, part)
        return part

    def _keep(self, key: Key, part: _Part) -> None:
        self._young[key] = part
        chars = len(_text(key))
        starts_bytes = part.ids.nbytes if part.char_starts is not None else 0
        self._young_bytes += chars + part.ids.nbytes + starts_bytes + _OVERHEAD_BYTES
        if self._young_bytes > self._limit_bytes:
            self._old, self._young, self._young_bytes = self._young, {}, 0

    def _keys(self, text: str, starts: list[int], inner: set[int]) -> list[Key]:
        parts = [text[start:end] for start, end in pairwise([*starts, len(text)])]
        if not self._cuts.by_place:
            return list[Key](parts)
        places = [Place.INSIDE if start in inner else Place.AFTER_TOKEN for start in starts]
        places[0] = Place.START
        return list[Key](zip(places, parts, strict=True))

    def _starts(self, text: str) -> tuple[list[int], set[int]]:
        """Where the parts of ``text`` start: after added tokens and at inner cuts (these also apart)."""
        starts = [0]
        inner: set[int] = set()
        tokens, inside = self._cuts.tokens, self._cuts.inside
        size = len(text)
        position = 0
        for end in [match.end() for match in tokens.finditer(text)] if tokens is not None else []:
            if inside is not None and end - position > CHUNK_CHARS:
                self._cut_inside(text, position, end, starts, inner)
            position = end
            if position < size:
                starts.append(position)
        if inside is not None and size - position > CHUNK_CHARS:
            self._cut_inside(text, position, size, starts, inner)
        return starts, inner

    def _cut_inside(self, text: str, start: int, end: int, starts: list[int], inner: set[int]) -> None:
        assert self._cuts.inside is not None
        search = self._cuts.inside.search
        position = start + CHUNK_CHARS
        while (match := search(text, position, end)) is not None and match.end() < end:
            starts.append(match.end())
            inner.add(match.end())
            position = match.end() + CHUNK_CHARS


def _text(key: Key) -> str:
    return key if isinstance(key, str) else key[1]


def _asked(keys: list[Key]) -> tuple[list[str], list[Place]]:
    """Parts and places as tokenizers want them."""
    parts = [_text(key) for key in keys]
    return parts, [Place.START if isinstance(key, str) else key[0] for key in keys]
