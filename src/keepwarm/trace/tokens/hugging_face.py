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
from keepwarm.trace.tokens.base import Cuts, Encoded, Place, Tokenizer
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
        return self._encode_batch([text])[0]

    def encode_parts(self, parts: Sequence[str], places: Sequence[Place]) -> list[Encoded]:
        texts = list(parts)
        left = self._shape.left_mark
        drops = self._shape.drops_blank
        for i, place in enumerate(places):
            if place is Place.AFTER_TOKEN and left:
                texts[i] = left + texts[i]
            elif place is Place.INSIDE and drops:
                texts[i] = texts[i][1:]  # the normalizer puts a blank in front again
        found = self._encode_batch(texts)
        for i, place in enumerate(places):
            if place is Place.AFTER_TOKEN and left:
                found[i] = Encoded(found[i].ids[1:], np.maximum(found[i].char_starts[1:] - len(left), 0))
            elif place is Place.INSIDE and drops and len(found[i].ids):
                starts = found[i].char_starts + 1
                starts[0] = 0
                found[i] = Encoded(found[i].ids, starts)
        return found

    @property
    def cuts(self) -> Cuts:
        return self._shape.cuts

    @cached_property
    def _shape(self) -> Shape:
        return shape_of(self.model)

    def _encode_batch(self, texts: list[str]) -> list[Encoded]:
        try:
            found = self._run(texts)
        except TypeError:  # what the library makes of half a surrogate pair
            found = self._run([_SURROGATES.sub("\ufffd", text) for text in texts])
        return [_encoded(encoding) for encoding in found]

    def _run(self, texts: list[str]) -> Any:
        try:
            return self.model.encode_batch(texts, add_special_tokens=False)
        except TypeError:
            raise
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
