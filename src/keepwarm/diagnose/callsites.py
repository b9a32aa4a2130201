"""Call sites, found without help: same tools, and prompts that share their stable text.

A site is a cluster of prompt heads (system and developer text, or the first message where
there is none). Heads are compared by the share of five-word shingles, which survives a clock
at the top, a passage in the middle and another order of examples. Explicit metadata wins.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Any

import msgspec

from keepwarm.trace.catalog import Catalog, ContentId, Row, message_text

_SHINGLE_WORDS = 5
_MAX_SHINGLES = 4_096
_SAME_SITE = 0.3
_MEMBERS_KEPT = 4
_WORDS = re.compile(r"\w+")
_NAME_CHARS = 48
_NAME_LINES = 60


class Site(msgspec.Struct, frozen=True, kw_only=True):
    """A call site: its name and the indices of its requests, in order."""

    id: str
    name: str
    rows: tuple[int, ...]


class _Cluster(msgspec.Struct):
    name: str  # empty: to be found among the lines
    tools: frozenset[str]
    has_head: bool
    members: list[frozenset[int]]  # shingles of a few heads
    lines: list[str]  # that all heads so far have in common
    rows: list[int]


def find_sites(catalog: Catalog) -> tuple[tuple[Site, ...], tuple[int, ...]]:
    """The call sites in order of first use, and the site number of each request."""
    finder = _Finder(catalog)
    numbers = [finder.assign(row) for row in catalog.rows]
    names = _distinct([_name(cluster) for cluster in finder.clusters])
    sites = tuple(
        Site(id=f"site-{i + 1}", name=name, rows=tuple(cluster.rows))
        for i, (name, cluster) in enumerate(zip(names, finder.clusters, strict=True))
    )
    return sites, tuple(numbers)


class _Finder:
    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.clusters: list[_Cluster] = []
        self._explicit: dict[str, int] = {}
        self._known: dict[tuple[Any, ...], int] = {}

    def assign(self, row: Row) -> int:
        number = self._find(row)
        self.clusters[number].rows.append(row.index)
        return number

    def _find(self, row: Row) -> int:
        if row.call_site is not None:
            if row.call_site not in self._explicit:
                self._explicit[row.call_site] = self._new(row.call_site, frozenset(), True, None)
            return self._explicit[row.call_site]
        head = _head(self.catalog, row)
        tools = _tool_names(self.catalog, row.tools)
        signature = (head, tools, row.prompt_text is not None, row.hashed is not None)
        if signature not in self._known:
            self._known[signature] = self._match(row, head, tools)
        return self._known[signature]

    def _match(self, row: Row, head: tuple[ContentId, ...], tools: frozenset[str]) -> int:
        has_head = bool(head) or row.prompt_text is not None
        text = _head_text(self.catalog, row, head)
        shingles = _shingles(text)
        best, best_share = None, 0.0
        for number, cluster in enumerate(self.clusters):
            if cluster.has_head != has_head or not _tools_agree(tools, cluster.tools, has_head):
                continue
            share = max((_containment(shingles, member) for member in cluster.members), default=0.0)
            if share > best_share:
                best, best_share = number, share
        # Without a system prompt there is no stable text to tell sites apart: one loose site.
        threshold = _SAME_SITE if has_head else 0.0
        if best is not None and best_share >= threshold and (has_head or best_share > 0.0):
            cluster = self.clusters[best]
            own = frozenset(_lines(text))
            cluster.lines = [line for line in cluster.lines if line in own]
            if len(cluster.members) < _MEMBERS_KEPT and best_share < 0.9:
                cluster.members.append(shingles)
            return best
        if not has_head:
            loose = next(
                (n for n, c in enumerate(self.clusters) if not c.has_head and c.tools == tools), None
            )
            if loose is not None:
                if len(self.clusters[loose].members) < _MEMBERS_KEPT:
                    self.clusters[loose].members.append(shingles)
                return loose
        name = "hashed prompts" if row.hashed is not None else ""
        return self._new(name, tools, has_head, shingles, _lines(text))

    def _new(
        self,
        name: str,
        tools: frozenset[str],
        has_head: bool,
        shingles: frozenset[int] | None,
        lines: Sequence[str] = (),
    ) -> int:
        members = [] if shingles is None else [shingles]
        self.clusters.append(_Cluster(name, tools, has_head, members, list(lines), []))
        return len(self.clusters) - 1


def _head(catalog: Catalog, row: Row) -> tuple[ContentId, ...]:
    """The leading system and developer messages."""
    head = []
    for content in row.messages:
        if catalog.message(content).get("role") not in ("system", "developer"):
            break
        head.append(content)
    return tuple(head)


def _head_text(catalog: Catalog, row: Row, head: Sequence[ContentId]) -> str:
    if row.prompt_text is not None:
        return str(catalog.store.get(row.prompt_text))[:16_384]
    contents = head or row.messages[:1]
    return "\n".join(message_text(catalog.message(content)) for content in contents)


def _tool_names(catalog: Catalog, tools: Sequence[ContentId]) -> frozenset[str]:
    return frozenset(tool_name(catalog.store.get(tool)) for tool in tools)


def tool_name(tool: Any) -> str:
    """The name of a tool definition, whichever dialect it is written in."""
    if not isinstance(tool, dict):
        return ""
    function = tool.get("function")
    return str((function if isinstance(function, dict) else tool).get("name", ""))


def _tools_agree(a: frozenset[str], b: frozenset[str], has_head: bool) -> bool:
    """Tools may be toggled within a site, but half of the smaller set has to be common.

    Where a system prompt tells sites apart, all tools may be taken off at times.
    """
    if not a or not b:
        return has_head or a == b
    return 2 * len(a & b) >= min(len(a), len(b))


def _shingles(text: str) -> frozenset[int]:
    words = _WORDS.findall(text.casefold())
    size = min(_SHINGLE_WORDS, max(1, len(words)))
    count = max(0, len(words) - size + 1)
    hashes = {_hash(" ".join(words[i : i + size])) for i in range(count)}
    # Sampled by value, not by place, so that equal text gives equal shingles.
    return frozenset(sorted(hashes)[:_MAX_SHINGLES])


def _hash(text: str) -> int:
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def _containment(a: frozenset[int], b: frozenset[int]) -> float:
    smaller = min(len(a), len(b))
    return len(a & b) / smaller if smaller else float(not a and not b)


def _lines(text: str) -> list[str]:
    """The first lines of a head that could name it: some words, no markers of a chat template."""
    lines = (line.strip() for line in text.splitlines()[:_NAME_LINES])
    return [line for line in lines if len(line.split()) > 1 and "<|" not in line]


def _name(cluster: _Cluster) -> str:
    """A call site's first stable line: what varies may be about a person and does not belong into a name."""
    if cluster.name:
        return cluster.name
    if not cluster.has_head:
        return f"no system prompt, {len(cluster.tools)} tools" if cluster.tools else "no system prompt"
    line = next(iter(cluster.lines), "no stable first line")
    return line if len(line) <= _NAME_CHARS else line[: _NAME_CHARS - 1].rstrip() + "…"


def _distinct(names: Sequence[str]) -> list[str]:
    seen: dict[str, int] = {}
    out = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        out.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return out
