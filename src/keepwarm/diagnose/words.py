"""Where two texts differ: lines first, then words, as character ranges of both sides.

Lines are aligned before words because a word-level alignment of two unrelated passages
matches every ``the`` and leaves confetti; a block of lines that shares little is one gap.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from typing import NamedTuple

from rapidfuzz.distance import LCSseq

# A word keeps the joiners inside times, ids, addresses and numbers, so that a clock is one word.
_WORD = re.compile(r"\s+|\w+(?:[-:.@/+,'’]\w+)*|[^\w\s]")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_MOSTLY_DIFFERENT = 0.5
_MAX_WORDS = 20_000


class Gap(NamedTuple):
    """Characters ``a_start:a_end`` of one text stand where ``b_start:b_end`` of the other do."""

    a_start: int
    a_end: int
    b_start: int
    b_end: int


def split_words(text: str) -> list[str]:
    """Words, punctuation and runs of white space; joined they give ``text`` again."""
    return _WORD.findall(text)


def split_lines(text: str) -> list[str]:
    """Lines with their line feeds; joined they give ``text`` again."""
    return _LINE.findall(text)


def squeeze(text: str) -> str:
    """The text without white space."""
    return "".join(text.split())


def diff(a: str, b: str) -> list[Gap]:
    """Gaps between two texts, in order; empty when they are equal."""
    if a == b:
        return []
    gaps: list[Gap] = []
    a_lines, b_lines = split_lines(a), split_lines(b)
    for block in _blocks(a_lines, b_lines):
        a_from, b_from = _offset(a_lines, block.a_start), _offset(b_lines, block.b_start)
        a_text = "".join(a_lines[block.a_start : block.a_end])
        b_text = "".join(b_lines[block.b_start : block.b_end])
        gaps += [
            Gap(gap.a_start + a_from, gap.a_end + a_from, gap.b_start + b_from, gap.b_end + b_from)
            for gap in _word_gaps(a_text, b_text)
        ]
    return gaps


def share_of_words(a: str, b: str) -> float:
    """How much of the shorter text's words stand in the longer one, in order: 0 to 1."""
    a_words = [word for word in split_words(a)[:_MAX_WORDS] if not word.isspace()]
    b_words = [word for word in split_words(b)[:_MAX_WORDS] if not word.isspace()]
    shorter = min(len(a_words), len(b_words))
    return LCSseq.similarity(a_words, b_words) / shorter if shorter else 0.0


def _word_gaps(a: str, b: str) -> list[Gap]:
    a_words, b_words = split_words(a), split_words(b)
    if max(len(a_words), len(b_words)) > _MAX_WORDS:
        blocks = [_trimmed(a_words, b_words)]
    else:
        blocks = _blocks(a_words, b_words)
        if _shared_share(a_words, b_words, blocks) < _MOSTLY_DIFFERENT:
            blocks = [_trimmed(a_words, b_words)]
    a_at, b_at = _starts(a_words), _starts(b_words)
    return [Gap(a_at[x.a_start], a_at[x.a_end], b_at[x.b_start], b_at[x.b_end]) for x in blocks]


def _shared_share(a: Sequence[str], b: Sequence[str], blocks: Sequence[Gap]) -> float:
    """Share of the non-space words that lie outside the blocks, of the longer side."""
    words_a = sum(1 for word in a if not word.isspace())
    words_b = sum(1 for word in b if not word.isspace())
    in_a = sum(1 for x in blocks for word in a[x.a_start : x.a_end] if not word.isspace())
    longer = max(words_a, words_b)
    return (words_a - in_a) / longer if longer else 1.0


def _blocks(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[Gap]:
    """Unequal runs of two sequences, as index ranges."""
    outer = _trimmed(a, b)
    inner_a, inner_b = a[outer.a_start : outer.a_end], b[outer.b_start : outer.b_end]
    if not inner_a or not inner_b:
        return [outer] if inner_a or inner_b else []
    runs: list[Gap] = []
    for op in LCSseq.opcodes(inner_a, inner_b):
        if op.tag == "equal":
            continue
        gap = Gap(
            op.src_start + outer.a_start,
            op.src_end + outer.a_start,
            op.dest_start + outer.b_start,
            op.dest_end + outer.b_start,
        )
        if runs and runs[-1].a_end == gap.a_start and runs[-1].b_end == gap.b_start:
            last = runs.pop()
            gap = Gap(last.a_start, gap.a_end, last.b_start, gap.b_end)
        runs.append(gap)
    return runs


def _trimmed(a: Sequence[Hashable], b: Sequence[Hashable]) -> Gap:
    """What is left between the common beginning and the common end."""
    shorter = min(len(a), len(b))
    start = next((i for i in range(shorter) if a[i] != b[i]), shorter)
    left = shorter - start
    tail = next((i for i in range(left) if a[len(a) - 1 - i] != b[len(b) - 1 - i]), left)
    return Gap(start, len(a) - tail, start, len(b) - tail)


def _starts(pieces: Sequence[str]) -> list[int]:
    starts = [0]
    for piece in pieces:
        starts.append(starts[-1] + len(piece))
    return starts


def _offset(pieces: Sequence[str], index: int) -> int:
    return sum(len(piece) for piece in pieces[:index])
