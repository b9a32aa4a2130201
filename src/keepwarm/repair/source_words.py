"""A source file as the words that its strings put into a prompt, each with its line.

Quotes, line ends and indentation do not matter to words, so a text is found whether it is one
string, several literals one below the other, dedented, a template, or a value in JSON or YAML.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator

_FILL = "\x00"  # keeps offsets where syntax is taken out, inside words
_WORD = re.compile(rf"[\w{_FILL}]+")
# "ends here" "goes on there": two literals that the language joins, or + between them.
_JOINT = re.compile(r"(?<!\\)([\"'`])(?:\s{0,200}[+\\]?\s{0,200})(?:[rRbBuUfFtT]{1,2})?([\"'`])(?=[^\"'`])")
_PREFIX = re.compile(r"\b[rRbBuUfFtT]{1,2}(?=[\"'])")
_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|\n|.)")


class SourceWords:
    """The words of ``text`` without case; ``line(n)`` is the line of word ``n``, from 1."""

    def __init__(self, text: str) -> None:
        plain = _without_syntax(text)
        found = [
            (match.end() - len(match[0].lstrip(_FILL)), word)
            for match in _WORD.finditer(plain)
            if (word := _read(match[0]))
        ]
        self.words = [word for _, word in found]
        self._starts = [start for start, _ in found]
        self._line_ends = [match.start() for match in re.finditer("\n", text)]

    def line(self, n: int) -> int:
        """The line on which word ``n`` begins."""
        return bisect.bisect_left(self._line_ends, self._starts[n]) + 1


def words_of(text: str) -> list[str]:
    """The words of a text as ``SourceWords`` has them."""
    return [match[0].casefold() for match in re.finditer(r"\w+", text)]


def _without_syntax(text: str) -> str:
    """``text`` of the same length: escapes decoded, joints of literals closed, string prefixes gone."""
    text = _JOINT.sub(lambda match: _FILL * len(match[0]), text)
    text = _PREFIX.sub(lambda match: " " * len(match[0]), text)
    return _ESCAPE.sub(_decoded, text)


def _decoded(match: re.Match[str]) -> str:
    escape = match[0]
    if escape[1] in "ux" and len(escape) > 2:
        return chr(int(f"0x{escape[2:]}", base=0)) + _FILL * (len(escape) - 1)
    return "  "


def _read(raw: str) -> str:
    return raw.replace(_FILL, "").casefold()


def grams(words: list[str], length: int) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Every run of ``length`` words with its place."""
    for i in range(len(words) - length + 1):
        yield i, tuple(words[i : i + length])
