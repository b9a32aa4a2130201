"""Tokenizers in the Hugging Face format (``tokenizer.json``), run by the ``tokenizers`` library."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import tokenizers
from tokenizers import processors

from keepwarm._errors import TokenizerError
from keepwarm.trace.prompt import Offsets, TokenIds
from keepwarm.trace.tokens.base import Cuts, Encoded, Place, Tokenizer
from keepwarm.trace.tokens.byte_level import ByteLengths, byte_lengths
from keepwarm.trace.tokens.shape import Shape, shape_of


class HuggingFaceTokenizer(Tokenizer):
    """A tokenizer on this machine. Not for use by several threads at once."""

    def __init__(
        self,
        model: tokenizers.Tokenizer,
        *,
        name: str,
        exact: bool,
        note: str,
        special_tokens: Mapping[str, str],
    ) -> None:
        self.name = name
        self.exact = exact
        self.note = note
        self.special_tokens = special_tokens
        self.model = model
        model.no_truncation()
        model.no_padding()
        # Post-processors add special tokens, which templates print themselves, and trim offsets.
        model.post_processor = processors.ByteLevel(trim_offsets=False)

    def encode(self, text: str) -> Encoded:
        return self._encoded([text])[0]

    def encode_parts(self, parts: Sequence[str], places: Sequence[Place]) -> list[Encoded]:
        found = self._encoded(self._prepared(parts, places))
        for i, place in enumerate(places):
            ids, starts = found[i]
            if place is Place.AFTER_TOKEN and self._shape.left_mark:
                found[i] = Encoded(ids[1:], np.maximum(starts[1:] - len(self._shape.left_mark), 0))
            elif place is Place.INSIDE and self._shape.drops_blank and len(ids):
                starts = starts + 1
                starts[0] = 0
                found[i] = Encoded(ids, starts)
        return found

    def ids_of_parts(self, parts: Sequence[str], places: Sequence[Place]) -> list[TokenIds]:
        encodings = self._run(self._prepared(parts, places), self.model.encode_batch_fast)
        found = [np.array(encoding.ids, dtype=np.int32) for encoding in encodings]
        if self._shape.left_mark:
            return [
                ids[1:] if place is Place.AFTER_TOKEN else ids
                for ids, place in zip(found, places, strict=True)
            ]
        return found

    def starts_of(self, part: str, ids: TokenIds) -> Offsets | None:
        lengths = self._byte_lengths
        return None if lengths is None else lengths.starts(part, ids)

    @cached_property
    def _byte_lengths(self) -> ByteLengths | None:
        return byte_lengths(self.model)

    def _prepared(self, parts: Sequence[str], places: Sequence[Place]) -> list[str]:
        """Parts as they must be encoded to give what they give in the middle of a text."""
        texts = list(parts)
        left, drops = self._shape.left_mark, self._shape.drops_blank
        if left or drops:
            for i, place in enumerate(places):
                if place is Place.AFTER_TOKEN:
                    texts[i] = left + texts[i]
                elif place is Place.INSIDE and drops:
                    texts[i] = texts[i][1:]  # the normalizer puts a blank in front again
        return texts

    @property
    def cuts(self) -> Cuts:
        return self._shape.cuts

    @cached_property
    def _shape(self) -> Shape:
        return shape_of(self.model)

    def _encoded(self, texts: list[str]) -> list[Encoded]:
        return [_encoded(encoding) for encoding in self._run(texts, self.model.encode_batch)]

    def _run(self, texts: list[str], encode_batch: Any) -> Any:
        try:
            try:
                return encode_batch(texts, add_special_tokens=False)
            except TypeError:  # what the library makes of half a surrogate pair
                return encode_batch(
                    [_SURROGATES.sub("\ufffd", text) for text in texts], add_special_tokens=False
                )
        except Exception as error:
            raise TokenizerError(
                f"tokenizer {self.name!r} cannot encode {sum(map(len, texts))} characters: {error}; "
                "check that tokenizer.json is complete"
            ) from error


# Half of a surrogate pair: JSON can hold one, UTF-8 cannot.
_SURROGATES = re.compile("[\ud800-\udfff]")


def _encoded(encoding: Any) -> Encoded:
    ids = np.array(encoding.ids, dtype=np.int32)
    starts = np.array([start for start, _ in encoding.offsets], dtype=np.int32)
    return Encoded(ids, np.maximum.accumulate(starts) if len(starts) else starts)
