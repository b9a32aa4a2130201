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

from keepwarm.trace.catalog import Catalog, Row, message_text
from keepwarm.trace.contents import ContentId

_SHINGLE_WORDS = 5
_MAX_SHINGLES = 4_096
_SAME_SITE = 0.3  # of the shorter head: what is left of instructions around a long passage
_NOTHING_NEW = 0.9
_MEMBERS_KEPT = 4
_NO_SHINGLES = frozenset({-1})  # stands for an empty head, which is like other empty heads only
_HEAD_CHARS = 16_384  # of a rendered prompt, of which nobody knows where the head ends
_WORDS = re.compile(r"\w+")
_NAME_CHARS = 48
_NAME_LINES = 60


class Site(msgspec.Struct, frozen=True, kw_only=True):
    """A call site: its name and the indices of its requests, in order."""

    id: str
    name: str
    rows: tuple[int, ...]


class _Cluster(msgspec.Struct, eq=False):
    number: int
    name: str  # empty: to be found among the lines
    tools: frozenset[str]
    has_head: bool
    members: list[frozenset[int]]  # shingles of a few heads
    lines: list[str]  # that all heads so far have in common
    rows: list[int]


def find_sites(catalog: Catalog) -> tuple[tuple[Site, ...], tuple[int, ...]]:
    """The call sites in order of first use, and the site number of each request."""
    finder = SiteFinder(catalog)
    numbers = [finder.assign(row) for row in catalog.rows]
    names = _distinct([_name(cluster) for cluster in finder.clusters])
    sites = tuple(
        Site(id=f"site-{i + 1}", name=name, rows=tuple(cluster.rows))
        for i, (name, cluster) in enumerate(zip(names, finder.clusters, strict=True))
    )
    return sites, tuple(numbers)


class SiteFinder:
    """Tells call sites apart, request by request, in the order of a catalog that may grow meanwhile."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.clusters: list[_Cluster] = []
        self._explicit: dict[str, _Cluster] = {}
        self._known: dict[tuple[Any, ...], _Cluster] = {}
        self._loose: dict[frozenset[str], _Cluster] = {}  # without a system prompt, by their tools
        self._holders: dict[int, list[int]] = {}  # numbers of the clusters that have a shingle

    def assign(self, row: Row) -> int:
        """The number of the next row's call site, from 0 in order of first use. Mutates."""
        cluster = self._find(row)
        cluster.rows.append(row.index)
        return cluster.number

    def name(self, number: int) -> str:
        """What a call site is called by what is known of it so far: it may be text of its prompts."""
        return _name(self.clusters[number])

    def _find(self, row: Row) -> _Cluster:
        if row.call_site is not None:
            if row.call_site not in self._explicit:
                self._explicit[row.call_site] = self._new(row.call_site, has_head=True)
            return self._explicit[row.call_site]
        head = _head(self.catalog, row)
        tools = _tool_names(self.catalog, row.tools)
        signature = (head, tools, row.prompt_text is not None, row.hashed is not None)
        if signature not in self._known:
            self._known[signature] = self._match(row, head, tools)
        return self._known[signature]

    def _match(self, row: Row, head: tuple[ContentId, ...], tools: frozenset[str]) -> _Cluster:
        has_head = bool(head) or row.prompt_text is not None
        text = _head_text(self.catalog, row, head)
        shingles = _shingles(text)
        best, share = self._nearest(shingles, tools, has_head=has_head)
        # Without a system prompt there is no stable text to tell sites apart: any likeness will do.
        if best is not None and (share >= _SAME_SITE or not has_head):
            own = frozenset(_lines(text))
            best.lines = [line for line in best.lines if line in own]
            if share < _NOTHING_NEW:
                self._learn(best, shingles)
            return best
        if not has_head and tools in self._loose:
            self._learn(self._loose[tools], shingles)
            return self._loose[tools]
        new = self._new("hashed prompts" if row.hashed is not None else "", has_head=has_head, tools=tools)
        new.lines = _lines(text)
        if not has_head:
            self._loose[tools] = new
        self._learn(new, shingles)
        return new

    def _nearest(
        self, shingles: frozenset[int], tools: frozenset[str], *, has_head: bool
    ) -> tuple[_Cluster | None, float]:
        """The cluster of the most alike head with tools that agree, and how alike: 0 to 1, never 0 of one."""
        best, best_share = None, 0.0
        keys = shingles or _NO_SHINGLES
        for number in sorted({number for key in keys for number in self._holders.get(key, ())}):
            cluster = self.clusters[number]
            if cluster.has_head != has_head or not _tools_agree(tools, cluster.tools, has_head=has_head):
                continue
            share = max((_containment(shingles, member) for member in cluster.members), default=0.0)
            if share > best_share:
                best, best_share = cluster, share
        return best, best_share

    def _learn(self, cluster: _Cluster, shingles: frozenset[int]) -> None:
        """Keep one more head of ``cluster`` to compare with, if there is room."""
        if len(cluster.members) < _MEMBERS_KEPT:
            cluster.members.append(shingles)
            for key in shingles or _NO_SHINGLES:
                holders = self._holders.setdefault(key, [])
                if cluster.number not in holders[-1:]:
                    holders.append(cluster.number)

    def _new(self, name: str, *, has_head: bool, tools: frozenset[str] = frozenset()) -> _Cluster:
        cluster = _Cluster(len(self.clusters), name, tools, has_head, members=[], lines=[], rows=[])
        self.clusters.append(cluster)
        return cluster


def _head(catalog: Catalog, row: Row) -> tuple[ContentId, ...]:
    """The leading system and developer messages."""
    head = []
    for content in row.messages:
        if not catalog.is_head(content):
            break
        head.append(content)
    return tuple(head)


def _head_text(catalog: Catalog, row: Row, head: Sequence[ContentId]) -> str:
    if row.prompt_text is not None:
        return str(catalog.store.get(row.prompt_text))[:_HEAD_CHARS]
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


def _tools_agree(a: frozenset[str], b: frozenset[str], *, has_head: bool) -> bool:
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
