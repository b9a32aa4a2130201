"""What happened to each prompt token: hit, forced, partial, cold, diverged or evicted."""

from __future__ import annotations

import bisect
import functools
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from keepwarm.diagnose.findings import TokenFates
from keepwarm.diagnose.fixes import text_at
from keepwarm.diagnose.measured import Measured
from keepwarm.diagnose.sessions import Lineage
from keepwarm.diagnose.traffic import Traffic
from keepwarm.diagnose.words import diff, split_lines
from keepwarm.trace.catalog import Catalog, ContentId, Row, message_text
from keepwarm.trace.prompt import Origin, Prompt

_MIN_CARRIED_CHARS = 16
_LINES_KEPT = 4_096


class FateTeller:
    """Tells the fates of requests, which have to be asked for in catalog order."""

    def __init__(self, traffic: Traffic, measured: Measured, lineage: Lineage, sites: Sequence[int]) -> None:
        self._traffic = traffic
        self._measured = measured
        self._lineage = lineage
        self._sites = sites
        self._carried: dict[int, CarriedContent] = {}

    def tell(self, row: Row) -> TokenFates:
        """What happened to each token of the row; the six add up to its prompt. Remembers the row."""
        site = self._sites[row.index]
        content = self._carried.setdefault(site, CarriedContent(self._traffic.catalog))
        fates = _fates(self._traffic, self._measured, row, content, self._lineage.parents[row.index])
        content.add(row)
        return fates


def _fates(
    traffic: Traffic, measured: Measured, row: Row, content: CarriedContent, parent: int | None
) -> TokenFates:
    block, prompt = measured.block_size, measured.prompt[row.index]
    hit, reachable = measured.hit[row.index], measured.hit_unbounded[row.index]
    full = prompt - prompt % block
    if row.hashed is not None:
        full = min(full, len(traffic.encoded[row.index].blocks) * block)
    all_shared = measured.shared[row.index].blocks * block >= prompt > 0
    forced = block if all_shared and reachable == full - block else 0
    missed = full - reachable - forced
    diverged = 0
    if missed and row.hashed is None:
        diverged = content.carried_tokens(traffic.prompt(row.index), row, parent, reachable, full - forced)
    return TokenFates(
        prompt=prompt,
        hit=hit,
        forced=forced,
        partial=prompt - full,
        cold=missed - diverged,
        diverged=diverged,
        evicted=reachable - hit,
    )


class CarriedContent:
    """What earlier requests of a call site carried, so that tokens seen before can be told from new ones.

    Whole messages and tools are remembered for the life of the trace; parts of a new message are
    looked for in the request it continues and in the newest one of the site.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._messages: set[ContentId] = set()
        self._tools: set[ContentId] = set()
        self._newest: Row | None = None
        self._lines = functools.lru_cache(maxsize=_LINES_KEPT)(self._lines_of)

    def add(self, row: Row) -> None:
        """Remember a request. Mutates; to be called after its own tokens were asked for."""
        self._messages.update(row.messages)
        if row.answer is not None and row.answer_token_ids is not None:
            self._messages.add(row.answer)
        self._tools.update(row.tools)
        self._newest = row

    def carried_tokens(self, prompt: Prompt, row: Row, parent: int | None, start: int, end: int) -> int:
        """How many of the tokens ``start:end`` of ``prompt`` an earlier request carried."""
        if self._newest is None or start >= end:
            return 0
        earlier = [self._newest]
        if parent is not None and parent != self._newest.index:
            earlier.append(self._catalog.rows[parent])
        chars = np.zeros(len(prompt.rendered.text) + 1, dtype=bool)
        starts = prompt.char_starts[start:end]
        self._mark(chars, prompt, row, earlier, int(starts[0]))
        return int(chars[np.minimum(starts, len(prompt.rendered.text))].sum())

    def _mark(
        self,
        chars: npt.NDArray[np.bool_],
        prompt: Prompt,
        row: Row,
        earlier: Sequence[Row],
        first_char: int,
    ) -> None:
        ranges: dict[str, list[tuple[int, int]]] = {}
        template: list[tuple[int, int]] = []
        spans = prompt.rendered.spans
        for span in spans[bisect.bisect_right(spans, first_char, key=lambda span: span.end) :]:
            if span.origin is Origin.TEMPLATE or span.path is None:
                template.append((span.start, span.end))
                continue
            known = self._is_known(span.path, row)
            if known:
                chars[span.start : span.end] = True
            elif known is None and span.value_start >= 0:
                if span.path not in ranges:
                    ranges[span.path] = self._carried_ranges(span.path, row, earlier)
                shift = span.start - span.value_start
                for start, end in ranges[span.path]:
                    low, high = max(span.start, start + shift), min(span.end, end + shift)
                    if low < high:
                        chars[low:high] = True
        for start, end in template:
            # What the template prints in front of a text shares that text's fate.
            chars[start:end] = chars[end] if end < len(prompt.rendered.text) else chars[start - 1]

    def _is_known(self, path: str, row: Row) -> bool | None:
        """True: carried as a whole. False: new. None: look inside."""
        name, index = _first_step(path)
        if name == "messages" and index < len(row.messages):
            return True if row.messages[index] in self._messages else None
        if name == "tools" and index < len(row.tools):
            return True if row.tools[index] in self._tools else None
        return None

    def _carried_ranges(self, path: str, row: Row, earlier: Sequence[Row]) -> list[tuple[int, int]]:
        """Character ranges of the text at ``path`` that earlier requests carried."""
        text = self._text(path, row)
        if not text:
            return []
        lines: set[str] = set()
        for before in earlier:
            for content in before.messages:
                lines |= self._lines(content)
            if before.prompt_text is not None:
                lines |= self._lines(before.prompt_text)
        ranges, at = [], 0
        for line in split_lines(text):
            if len(line.strip()) >= _MIN_CARRIED_CHARS and line.strip() in lines:
                ranges.append((at, at + len(line)))
            at += len(line)
        for before in earlier:
            other = self._text(path, before)
            if other:
                ranges += _equal_runs(other, text)
        return ranges

    def _text(self, path: str, row: Row) -> str | None:
        name, index = _first_step(path)
        if name == "prompt":
            return None if row.prompt_text is None else str(self._catalog.store.get(row.prompt_text))
        if name != "messages" or index >= len(row.messages):
            return None
        message = self._catalog.message(row.messages[index])
        rest = path.partition("]")[2]
        if rest.startswith(".content["):
            return text_at(message, int(rest[len(".content[") :].partition("]")[0]))
        return text_at(message, None) if rest == ".content" else None

    def _lines_of(self, content: ContentId) -> frozenset[str]:
        value = self._catalog.store.get(content)
        text = value if isinstance(value, str) else message_text(value)
        stripped = (line.strip() for line in split_lines(text))
        return frozenset(line for line in stripped if len(line) >= _MIN_CARRIED_CHARS)


def _equal_runs(other: str, text: str) -> list[tuple[int, int]]:
    runs, at = [], 0
    for gap in diff(other, text):
        runs.append((at, gap.b_start))
        at = gap.b_end
    runs.append((at, len(text)))
    return [(start, end) for start, end in runs if end - start >= _MIN_CARRIED_CHARS]


def _first_step(path: str) -> tuple[str, int]:
    name, bracket, rest = path.partition("[")
    number = rest.partition("]")[0]
    return (name, int(number)) if bracket and number.isdecimal() else (path.partition(".")[0], -1)


def add_fates(fates: Sequence[TokenFates]) -> TokenFates:
    """The sum of several requests' fates."""
    fields = TokenFates.__struct_fields__
    sums: Mapping[str, int] = {name: sum(getattr(item, name) for item in fates) for name in fields}
    return TokenFates(**sums)
