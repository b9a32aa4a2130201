"""Which earlier request had the most of a request's prefix: its baseline, over whole traces at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from keepwarm.cache.prefix_tree import PrefixTree
from keepwarm.trace.hashes import BlockHashes


class SharedPrefix(NamedTuple):
    """The longest block prefix that any earlier request had.

    ``request_index`` is the latest earlier request with all of it, -1 if ``blocks`` is 0.
    """

    request_index: int
    blocks: int


def longest_shared_prefix(blocks: Sequence[BlockHashes]) -> Iterator[SharedPrefix]:
    """For each request the deepest block prefix that any earlier request had, and who had it last."""
    tree = PrefixTree(blocks.__getitem__)
    for index, own in enumerate(blocks):
        runs = tree.add(index, own)
        yield SharedPrefix(runs[-1].request_index, runs[-1].end) if runs else SharedPrefix(-1, 0)
