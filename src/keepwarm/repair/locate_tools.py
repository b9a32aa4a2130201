"""Where an application gathers its tools and iterates over them: what decides their order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from keepwarm.repair.sources import Source

_LEAST_SHARE = 0.5  # of the tools in one place
_GAP_LINES = 12
_SYMBOL = re.compile(r"^(?:export |const |let |var |static |final )*(\w{3,80})\s*(?::[^=\n]{1,120})?=(?!=)")
_CALLABLE = re.compile(r"^\s{0,8}(?:async )?(?:def|function|class|fn|func)\s+(\w{3,80})")
_ITERATES = re.compile(r"\bfor\b|\bmap\(|\bvalues\(\)|\bitems\(\)|\blist\(|\bsorted\(|forEach|stream\(")


class Gathering(NamedTuple):
    """Lines of a file; ``score`` from 0 to 1."""

    path: str
    first_line: int
    last_line: int
    score: float
    why: str


def tool_places(sources: Sequence[Source], tools: Sequence[str]) -> Iterator[Gathering]:
    """Where the ``tools`` are gathered, by name or by symbol, and where what holds them is iterated."""
    if len(tools) < 2:
        return
    quoted = re.compile(r"[\"'`](" + "|".join(map(re.escape, tools)) + r")[\"'`]")
    named = [source for source in sources if any(tool in source.text for tool in tools)]
    symbols = _defining_symbols(named, quoted, len(tools))
    gathered: set[str] = set()
    by_symbol = re.compile(r"\b(" + "|".join(map(re.escape, symbols)) + r")\b") if symbols else None
    for source in sources:
        for pattern, how in ((quoted, "by name"), (by_symbol, "by the symbols they are defined under")):
            if pattern is None or not pattern.search(source.text):
                continue
            for first, last, found in _clusters(source.text, pattern):
                share = len(found) / len(tools)
                if share >= _LEAST_SHARE:
                    gathered.update(_holders(source.text, first, last, pattern))
                    why = f"{len(found)} of the {len(tools)} tools are gathered here, {how}"
                    yield Gathering(
                        source.path, first, last, 0.7 * min(1.0, share) * _plain(source.path), why
                    )
    yield from _iterations(sources, gathered)


def _defining_symbols(sources: Sequence[Source], quoted: re.Pattern[str], tools: int) -> tuple[str, ...]:
    """Names of variables or functions whose definition names one tool first."""
    symbols: dict[str, None] = {}
    for source in sources:
        lines = source.text.split("\n")
        for n, line in enumerate(lines):
            match = quoted.search(line)
            if match is None:
                continue
            for above in range(n, max(-1, n - 4), -1):
                held = _SYMBOL.match(lines[above]) or _CALLABLE.match(lines[above])
                if held is not None:
                    symbols[held[1]] = None
                    break
    return tuple(symbols)[: 4 * tools]


def _clusters(text: str, pattern: re.Pattern[str]) -> Iterator[tuple[int, int, set[str]]]:
    first = last = 0
    found: set[str] = set()
    for n, line in enumerate(text.split("\n"), 1):
        names = set(pattern.findall(line))
        if not names:
            continue
        if found and n - last > _GAP_LINES:
            yield first, last, found
            found = set()
        if not found:
            first = n
        found |= names
        last = n
    if found:
        yield first, last, found


def _holders(text: str, first: int, last: int, pattern: re.Pattern[str]) -> Iterator[str]:
    """The global symbols whose value is, or begins with, a gathering: what holds all the tools."""
    lines = text.split("\n")
    for n in range(max(0, first - 4), last):
        match = _SYMBOL.match(lines[n])
        if match is None or len(match[1]) <= 3:
            continue
        if lines[n].rstrip().endswith(("(", "[", "{")) or pattern.search(lines[n], match.end()):
            yield match[1]


def _iterations(sources: Sequence[Source], held: set[str]) -> Iterator[Gathering]:
    if not held:
        return
    pattern = re.compile(r"\b(" + "|".join(map(re.escape, sorted(held))) + r")\b")
    for source in sources:
        if not pattern.search(source.text):
            continue
        for n, line in enumerate(source.text.split("\n"), 1):
            match = pattern.search(line)
            if match is not None and len(line) < 1000 and _ITERATES.search(line):
                why = f"what holds the tools ({match[1]}) is iterated here, which decides their order"
                yield Gathering(source.path, n, n, 0.8 * _plain(source.path), why)


def _plain(path: str) -> float:
    return 0.4 if re.search(r"(?:^|/)(?:tests?|docs|fixtures|golden)/|\.(?:jsonl|md|csv)$", path) else 1.0
