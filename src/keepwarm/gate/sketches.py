"""What a call site is recognised by when its name, its number or some of its wording have changed.

A sketch is the smallest hashes of the five-word runs that most prompts of the call site begin with, so what
varies per request is not in it. The share of hashes two sketches have in common estimates the share of
runs their texts have in common (bottom-k sketch, Cohen and Kaplan 2007). Hashes are cut to 32 bits: many
texts have each of them.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NewType

from keepwarm.diagnose.callsites import Site, tool_name
from keepwarm.trace.catalog import HEAD_ROLES, Catalog, Row, message_text
from keepwarm.trace.contents import ContentId

Sketch = NewType("Sketch", str)
"""Sorted hashes in hexadecimal, with spaces between them: one short line of a file."""

_HASHES = 48
_HASH_BYTES = 4
_RUN_WORDS = 5
_HEAD_CHARS = 16_384  # of a rendered prompt, of which nobody knows where the head ends
_MOST = 0.5  # of the requests must begin with a run for it to belong to the call site
_WORDS = re.compile(r"\w+")

SAME_SITE = 0.2
"""Share of text at which two call sites are the same: in one trace, diagnosis would have joined them."""


def text_sketch(catalog: Catalog, site: Site) -> Sketch:
    """The sketch of the text that most prompts of ``site`` begin with; empty where there is none."""
    heads = Counter(_head(catalog.rows[index], catalog) for index in site.rows)
    runs: Counter[str] = Counter()
    for head, requests in heads.items():
        for run in _runs(_text(head, catalog)):
            runs[run] += requests
    return _sketch(run for run, requests in runs.items() if requests >= _MOST * len(site.rows))


def tools_sketch(catalog: Catalog, site: Site) -> Sketch:
    """A hash of the name of each tool that ``site`` offers."""
    tools = {tool for index in site.rows for tool in catalog.rows[index].tools}
    return _sketch({_hash(tool_name(catalog.store.get(tool))) for tool in tools})


def likeness(a: Sketch, b: Sketch) -> float:
    """The estimated share of text in common, 0 to 1; two call sites without stable text are alike."""
    if not a or not b:
        return float(a == b)
    first, second = set(a.split()), set(b.split())
    both = first & second
    smallest = sorted(first | second)[: max(len(first), len(second))]
    return sum(run in both for run in smallest) / len(smallest)


def tools_agree(a: Sketch, b: Sketch) -> bool:
    """Tools come and go, but half of the smaller set has to be common; none agree with any."""
    first, second = set(a.split()), set(b.split())
    return 2 * len(first & second) >= min(len(first), len(second))


def _sketch(hashes: Iterable[str]) -> Sketch:
    return Sketch(" ".join(sorted(hashes)[:_HASHES]))


def _head(row: Row, catalog: Catalog) -> tuple[ContentId, ...]:
    """The contents a prompt begins with: its system text, else its first message, or all as one text."""
    if row.prompt_text is not None:
        return (row.prompt_text,)
    head = []
    for content in row.messages:
        if catalog.message(content).get("role") not in HEAD_ROLES:
            break
        head.append(content)
    return tuple(head) or row.messages[:1]


def _text(head: Sequence[ContentId], catalog: Catalog) -> str:
    values = [catalog.store.get(content) for content in head]
    return "\n".join(value if isinstance(value, str) else message_text(value) for value in values)[
        :_HEAD_CHARS
    ]


def _runs(text: str) -> set[str]:
    words = _WORDS.findall(text.casefold())
    size = min(_RUN_WORDS, max(1, len(words)))
    return {_hash(" ".join(words[i : i + size])) for i in range(len(words) - size + 1)}


def _hash(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_HASH_BYTES).hexdigest()
