"""A text around a break in pieces: token by token, or with what a mask covers apart from the rest."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from keepwarm.diagnose.report.mask import MASK


class TextPart(NamedTuple):
    """Some of a text; ``masked``: it stands for a value that is not shown."""

    text: str
    masked: bool


def pieces(text: str, token_chars: Sequence[int]) -> tuple[TextPart, ...]:
    """The tokens of ``text``, where ``token_chars`` are their lengths, else its masks and what is between.

    The parts joined are ``text``. A token of no characters, which is a part of the character behind it,
    is left out. Lengths that do not add up to the text are not used.
    """
    if token_chars and sum(token_chars) == len(text) and min(token_chars) >= 0:
        ends = list(itertools.accumulate(token_chars))
        return tuple(
            TextPart(text[start:end], False) for start, end in itertools.pairwise([0, *ends]) if start < end
        )
    return tuple(_apart(text))


def _apart(text: str) -> Iterator[TextPart]:
    read = 0
    for found in MASK.finditer(text):
        if read < found.start():
            yield TextPart(text[read : found.start()], False)
        yield TextPart(found[0], True)
        read = found.end()
    if read < len(text):
        yield TextPart(text[read:], False)
