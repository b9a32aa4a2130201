"""One regex for many words, quick to try: words are matched letter by letter, not one by one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any


def one_of(words: Mapping[str, str]) -> str:
    """A regex for the longest of ``words`` at a place, each followed by its own tail ("" for no words)."""
    if not words:
        return ""
    root: dict[str, Any] = {}
    for word in sorted(words):
        node = root
        for char in word:
            node = node.setdefault(char, {})
        node[""] = words[word]
    return _regex(root)


def _regex(node: dict[str, Any]) -> str:
    prefix = ""
    while len(node) == 1 and "" not in node:  # a stretch without branches
        char, node = next(iter(node.items()))
        prefix += re.escape(char)
    branches = [re.escape(char) + _regex(inner) for char, inner in node.items() if char]
    if "" in node:
        branches.append(node[""])  # last: longer words first
    if not branches or branches == [""]:
        return prefix
    return f"{prefix}(?:{'|'.join(branches)})" if len(branches) > 1 else prefix + branches[0]
