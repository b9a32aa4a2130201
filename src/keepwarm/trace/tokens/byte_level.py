"""Where the tokens of a byte-level tokenizer start, from their lengths alone."""

from __future__ import annotations

import json

import numpy as np
import numpy.typing as npt
import tokenizers

from keepwarm.trace.prompt import Offsets, TokenIds


class ByteLengths:
    """Bytes per token id of a byte-level model, whose tokens spell exactly the bytes they cover."""

    def __init__(self, lengths: npt.NDArray[np.int32], *, ascii_only: bool) -> None:
        self._lengths = lengths
        self._ascii_only = ascii_only

    def starts(self, text: str, ids: TokenIds) -> Offsets | None:
        """The character at which each token starts, ``None`` where lengths do not tell.

        Tokens that begin inside a character share its start, as everywhere.
        """
        if self._ascii_only and not text.isascii():
            return None
        if len(ids) and int(ids.max()) >= len(self._lengths):
            return None
        ends = np.cumsum(self._lengths[ids], dtype=np.int64)
        raw = text.encode("utf-8", "replace")
        if (int(ends[-1]) if len(ends) else 0) != len(raw):
            return None  # something was normalised, stripped or put in front
        byte_starts = ends - self._lengths[ids]
        if len(raw) == len(text):
            return byte_starts.astype(np.int32)
        is_first_byte = (np.frombuffer(raw, dtype=np.uint8) & 0xC0) != 0x80
        char_of_byte = (np.cumsum(is_first_byte) - 1).astype(np.int32)
        starts: Offsets = char_of_byte[byte_starts]
        return starts


def byte_lengths(model: tokenizers.Tokenizer) -> ByteLengths | None:
    """The lengths, or ``None`` for a tokenizer that is not plainly byte-level BPE."""
    spec = json.loads(model.to_str())
    normalizer = spec.get("normalizer")
    if normalizer is not None and normalizer.get("type") != "NFC":
        return None
    if (spec.get("decoder") or {}).get("type") != "ByteLevel" or spec["model"]["type"] != "BPE":
        return None
    lengths = np.zeros(model.get_vocab_size(with_added_tokens=True) + 1, dtype=np.int32)
    for token, token_id in spec["model"]["vocab"].items():
        if token_id < len(lengths):
            lengths[token_id] = len(token)  # one character of the byte alphabet per byte
    for token in spec.get("added_tokens") or ():
        if token["id"] < len(lengths):
            lengths[token["id"]] = len(token["content"].encode("utf-8"))
    return ByteLengths(lengths, ascii_only=normalizer is not None)
