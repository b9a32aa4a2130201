"""Encodes prompts part by part and keeps the parts: a shared prefix is encoded once."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from keepwarm.trace.prompt import TokenIds
from keepwarm.trace.tokens.base import Encoded, Place, Tokenizer

# Texts between added tokens are cut further after this many characters.
CHUNK_CHARS = 1024
# What one kept part costs besides its text and arrays, roughly.
_OVERHEAD_BYTES = 400

# A part, with its place where the tokenizer cares about it.
Key = str | tuple[Place, str]


class PartCache:
    """Ids of whole texts, put together from parts that were encoded before.

    Keeps parts in two generations of half of ``limit_bytes`` each: when the younger one is full
    it becomes the older one, and what is used again moves over. Never mutates what it returned.
    """

    def __init__(self, tokenizer: Tokenizer, limit_bytes: int) -> None:
        self._tokenizer = tokenizer
        self._cuts = tokenizer.cuts
        self._limit_bytes = max(limit_bytes // 2, 1)
        self._young: dict[Key, Encoded] = {}
        self._old: dict[Key, Encoded] = {}
        self._young_bytes = 0

    def ids(self, text: str) -> TokenIds:
        """Token ids of ``text``. Raises ``TokenizerError``."""
        if not text:
            return np.empty(0, np.int32)
        parts, _ = self._parts(text)
        return np.concatenate([part.ids for part in parts])

    def encode(self, text: str) -> Encoded:
        """Token ids of ``text`` and where they start. Raises ``TokenizerError``."""
        if not text:
            return Encoded(np.empty(0, np.int32), np.empty(0, np.int32))
        parts, starts = self._parts(text)
        counts = [len(part.ids) for part in parts]
        shifts = np.repeat(np.array(starts, dtype=np.int32), counts)
        ids = np.concatenate([part.ids for part in parts])
        return Encoded(ids, np.concatenate([part.char_starts for part in parts]) + shifts)

    def _parts(self, text: str) -> tuple[list[Encoded], list[int]]:
        """The encoded parts of a text and the character at which each starts."""
        starts, inner = self._starts(text)
        keys: list[Key] = [text[start:end] for start, end in pairwise([*starts, len(text)])]
        if self._cuts.by_place:
            places = [Place.INSIDE if start in inner else Place.AFTER_TOKEN for start in starts]
            places[0] = Place.START
            keys = list(zip(places, keys, strict=True))  # type: ignore[arg-type]
        found = [self._find(key) for key in keys]
        return self._filled(keys, found), starts

    def _find(self, key: Key) -> Encoded | None:
        part = self._young.get(key)
        if part is None:
            part = self._old.get(key)
            if part is not None:
                self._keep(key, part)
        return part

    def _filled(self, keys: list[Key], found: list[Encoded | None]) -> list[Encoded]:
        """``found`` with what is missing encoded, each distinct part once."""
        missing = list(dict.fromkeys(key for key, part in zip(keys, found, strict=True) if part is None))
        if missing:
            texts = [key if isinstance(key, str) else key[1] for key in missing]
            places = [Place.START if isinstance(key, str) else key[0] for key in missing]
            made = dict(zip(missing, self._tokenizer.encode_parts(texts, places), strict=True))
            for key, part in made.items():
                self._keep(key, part)
            return [made[key] if part is None else part for key, part in zip(keys, found, strict=True)]
        return [part for part in found if part is not None]

    def _keep(self, key: Key, part: Encoded) -> None:
        self._young[key] = part
        chars = len(key) if isinstance(key, str) else len(key[1])
        self._young_bytes += chars + part.ids.nbytes + part.char_starts.nbytes + _OVERHEAD_BYTES
        if self._young_bytes > self._limit_bytes:
            self._old, self._young, self._young_bytes = self._young, {}, 0

    def _starts(self, text: str) -> tuple[list[int], set[int]]:
        """Where the parts of ``text`` start: after added tokens and at inner cuts (also given apart)."""
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
