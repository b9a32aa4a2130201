"""Where tokens start, told from how a server prints them: byte-level, sentencepiece or plain pieces."""

from __future__ import annotations

import numpy as np

from keepwarm.trace.prompt import Offsets


def _byte_alphabet() -> dict[str, int]:
    """The printable stand-ins of byte-level BPE: printable bytes are themselves, the rest follow at 256."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    found = {chr(byte): byte for byte in printable}
    others = (byte for byte in range(256) if byte not in set(printable))
    return found | {chr(256 + index): byte for index, byte in enumerate(others)}


_BYTES = _byte_alphabet()


def starts_of_pieces(text: str, pieces: list[str]) -> Offsets:
    """The character at which each piece starts; approximate where pieces do not spell the text. Sorted."""
    sizes = np.array([_utf8_bytes(piece) for piece in pieces], dtype=np.int64)
    ends = np.cumsum(sizes) if len(sizes) else sizes
    chars = np.array([len(char.encode("utf-8", "surrogatepass")) for char in text], dtype=np.int64)
    char_starts = np.concatenate([[0], np.cumsum(chars)[:-1]]) if len(chars) else np.zeros(1, np.int64)
    total = int(chars.sum())
    begins = ends - sizes
    if len(ends) and ends[-1] != total:  # the pieces do not spell the text: stretch them over it
        begins = begins * total // max(int(ends[-1]), 1)
    found = np.searchsorted(char_starts, begins, side="right") - 1
    return np.maximum.accumulate(found).astype(np.int32) if len(found) else found.astype(np.int32)


def _utf8_bytes(piece: str) -> int:
    """Bytes of text that a piece stands for."""
    if piece and all(char in _BYTES for char in piece):
        return len(piece)
    if len(piece) == 6 and piece.startswith("<0x") and piece.endswith(">"):
        return 1
    return len(piece.replace("\u2581", " ").encode("utf-8", "surrogatepass"))
