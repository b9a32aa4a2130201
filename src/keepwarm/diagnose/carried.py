"""Which parts of a prompt earlier requests of its call site carried, wherever they stood."""

from __future__ import annotations

import bisect
import re
from collections import OrderedDict
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from keepwarm.diagnose.fixes import text_at
from keepwarm.diagnose.tool_texts import string_at, strings_in
from keepwarm.diagnose.words import split_lines
from keepwarm.trace.catalog import Catalog, Row, message_text
from keepwarm.trace.contents import ContentId
from keepwarm.trace.prompt import Origin, Prompt, Span

_SHINGLE_WORDS = 5
_RUN_WORDS = 40  # a stock sentence in a new document is no earlier content
_LINE_CHARS = 16  # nor is a short line
_SHINGLES_KEPT = 1_000_000  # in all, at some 60 bytes each
# Scripts without spaces between words: each character counts as one.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\s\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")


class Shingles:
    """Hashes of the word runs and lines of stored texts. Those used last are kept."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._kept: OrderedDict[ContentId, frozenset[int]] = OrderedDict()
        self._kept_shingles = 0

    def of(self, content: ContentId) -> frozenset[int]:
        """The hashes of one stored message, tool or prompt text."""
        found = self._kept.get(content)
        if found is not None:
            self._kept.move_to_end(content)
            return found
        made = self._made(content)
        self._kept[content] = made
        self._kept_shingles += len(made)
        while self._kept_shingles > _SHINGLES_KEPT and len(self._kept) > 1:
            self._kept_shingles -= len(self._kept.popitem(last=False)[1])
        return made

    def _made(self, content: ContentId) -> frozenset[int]:
        value = self._catalog.store.get(content)
        text = value if isinstance(value, str) else message_text(value) or "\n".join(strings_in(value))
        lines = (_line_hash(line) for line in split_lines(text))
        return frozenset(_shingles(_WORD.findall(text))) | {line for line in lines if line is not None}


class CarriedContent:
    """What earlier requests of a call site carried, so that tokens seen before can be told from new ones.

    Whole messages and tools are remembered for the life of the trace; parts of a new message are
    looked for in the request it continues and in the newest one of the site.
    """

    def __init__(self, catalog: Catalog, shingles: Shingles) -> None:
        self._catalog = catalog
        self._shingles = shingles
        self._messages: set[ContentId] = set()
        self._tools: set[ContentId] = set()
        self._tool_texts: set[str] = set()  # a definition written anew still says what was said before
        self._newest: Row | None = None

    def add(self, row: Row) -> None:
        """Remember a request. Mutates; to be called after its own tokens were asked for."""
        self._messages.update(row.messages)
        if row.answer is not None and row.answer_token_ids is not None:
            self._messages.add(row.answer)
        for tool in row.tools:
            if tool not in self._tools:
                self._tools.add(tool)
                self._tool_texts.update(strings_in(self._catalog.store.get(tool)))
        self._newest = row

    def carried(
        self, prompt: Prompt, row: Row, parent: int | None, start: int, end: int
    ) -> npt.NDArray[np.bool_]:
        """Which of the tokens ``start:end`` of ``prompt`` an earlier request carried. Does not mutate.

        ``parent`` is the row that ``row`` continues.
        """
        starts = prompt.char_starts[start:end]
        chars = np.zeros(len(prompt.rendered.text) + 1, dtype=bool)
        if self._newest is not None and len(starts):
            earlier = [self._newest]
            if parent is not None and parent != self._newest.index:
                earlier.append(self._catalog.rows[parent])
            self._mark(chars, prompt, row, earlier, int(starts[0]))
        return chars[np.minimum(starts, len(prompt.rendered.text))]

    def _mark(
        self,
        chars: npt.NDArray[np.bool_],
        prompt: Prompt,
        row: Row,
        earlier: Sequence[Row],
        first_char: int,
    ) -> None:
        """Set in ``chars``, from ``first_char`` on, the characters that were carried."""
        ranges: dict[str, list[tuple[int, int]]] = {}
        template: list[tuple[int, int]] = []
        spans = prompt.rendered.spans
        for span in spans[bisect.bisect_right(spans, first_char, key=lambda span: span.end) :]:
            if span.origin is Origin.TEMPLATE or span.path is None:
                template.append((span.start, span.end))
            elif self._is_carried_whole(span.path, row):
                chars[span.start : span.end] = True
            elif span.value_start >= 0:
                if span.path not in ranges:
                    ranges[span.path] = self._carried_ranges(span.path, row, earlier)
                _mark_ranges(chars, span, ranges[span.path])
            elif span.path.startswith("tools["):
                template.append((span.start, span.end))  # keys and punctuation
        for start, end in reversed(template):
            # What is printed in front of a text shares that text's fate.
            chars[start:end] = chars[end] if end < len(prompt.rendered.text) else chars[start - 1]

    def _is_carried_whole(self, path: str, row: Row) -> bool:
        """Whether the whole message or tool at ``path`` was carried, or the whole text in a tool."""
        name, index = _first_step(path)
        if name == "messages" and index < len(row.messages):
            return row.messages[index] in self._messages
        if name == "tools" and index < len(row.tools):
            return row.tools[index] in self._tools or self._text(path, row) in self._tool_texts
        return False

    def _carried_ranges(self, path: str, row: Row, earlier: Sequence[Row]) -> list[tuple[int, int]]:
        """Character ranges of the text at ``path`` that earlier requests carried, wherever it stood."""
        text = self._text(path, row)
        if not text:
            return []
        own = self._shingles.of(_content(path, row))
        sets = [self._shingles.of(content) for before in earlier for content in _contents(before)]
        if all(own.isdisjoint(shingles) for shingles in sets):
            return []
        known = set[int]().union(*sets)
        return _known_ranges(text, known)

    def _text(self, path: str, row: Row) -> str | None:
        name, index = _first_step(path)
        if name == "prompt":
            return None if row.prompt_text is None else str(self._catalog.store.get(row.prompt_text))
        if name == "tools" and index < len(row.tools):
            return string_at(self._catalog.store.get(row.tools[index]), path.partition("]")[2])
        if name != "messages" or index >= len(row.messages):
            return None
        message = self._catalog.message(row.messages[index])
        rest = path.partition("]")[2]
        if rest.startswith(".content["):
            return text_at(message, int(rest[len(".content[") :].partition("]")[0]))
        return text_at(message, None) if rest == ".content" else None


def _contents(row: Row) -> tuple[ContentId, ...]:
    """All stored texts of a request."""
    prompt = () if row.prompt_text is None else (row.prompt_text,)
    return (*row.messages, *row.tools, *prompt)


def _content(path: str, row: Row) -> ContentId:
    """The stored text that ``path`` leads into."""
    name, index = _first_step(path)
    if name == "messages":
        return row.messages[index]
    if name == "tools":
        return row.tools[index]
    assert row.prompt_text is not None
    return row.prompt_text


def _mark_ranges(chars: npt.NDArray[np.bool_], span: Span, ranges: Sequence[tuple[int, int]]) -> None:
    """Mark what of ``ranges`` of a value the copy in ``span`` shows."""
    shift = span.start - span.value_start
    for start, end in ranges:
        low, high = max(span.start, start + shift), min(span.end, end + shift)
        if low < high:
            chars[low:high] = True


def _known_ranges(text: str, known: set[int]) -> list[tuple[int, int]]:
    """Ranges of ``text`` whose words came in the same order before, long enough not to be chance."""
    words = list(_WORD.finditer(text))
    ranges: list[tuple[int, int]] = []
    first = 0  # of the run at hand, which ends before word ``at + _SHINGLE_WORDS``
    for at, shingle in enumerate(_shingles([word.group() for word in words])):
        if shingle in known:
            continue
        _keep_run(ranges, words, first, at + _SHINGLE_WORDS - 1)
        first = at + 1
    _keep_run(ranges, words, first, len(words))
    return ranges + _known_lines(text, known)


def _known_lines(text: str, known: set[int]) -> list[tuple[int, int]]:
    lines, at = [], 0
    for line in split_lines(text):
        if _line_hash(line) in known:
            lines.append((at, at + len(line)))
        at += len(line)
    return lines


def _line_hash(line: str) -> int | None:
    stripped = line.strip()
    return hash(stripped) if len(stripped) >= _LINE_CHARS else None


def _keep_run(ranges: list[tuple[int, int]], words: Sequence[re.Match[str]], first: int, end: int) -> None:
    if end - first >= _RUN_WORDS:
        ranges.append((words[first].start(), words[end - 1].end()))


def _shingles(words: Sequence[str]) -> Iterator[int]:
    """A hash of every run of some words; it serves within this process only."""
    shifted = (words[i:] for i in range(_SHINGLE_WORDS))
    return map(hash, zip(*shifted, strict=False))


def _first_step(path: str) -> tuple[str, int]:
    name, bracket, rest = path.partition("[")
    number = rest.partition("]")[0]
    return (name, int(number)) if bracket and number.isdecimal() else (path.partition(".")[0], -1)
