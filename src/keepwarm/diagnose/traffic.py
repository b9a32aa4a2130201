"""A trace as the cache sees it: prompts encoded and hashed once, replayed as often as needed."""

from __future__ import annotations

import functools
from collections.abc import Mapping

import msgspec
import numpy as np

from keepwarm.cache.holders import SharedPrefix, longest_shared_prefix
from keepwarm.cache.replay import CacheRequest, ReplayRow, replay
from keepwarm.trace.blocks import Encoded, encoded_ids, encoded_request, read_skipping_param
from keepwarm.trace.catalog import Catalog, Row
from keepwarm.trace.encode import PromptEncoder
from keepwarm.trace.hashes import BlockHashes
from keepwarm.trace.prompt import Prompt, TokenIds
from keepwarm.trace.records import Request
from keepwarm.trace.slabs import HashSlabs

_PROMPTS_KEPT = 64  # more than the few earlier requests that one is compared with


class Traffic:
    """A catalog with an encoder and a simulated cache. ``encoded`` is in catalog order.

    ``ids(index)`` are the prompt tokens of a row and ``prompt(index)`` those tokens with provenance;
    both are made again on demand, and the ones asked for last are kept. Do not mutate them.
    """

    def __init__(
        self,
        catalog: Catalog,
        encoder: PromptEncoder,
        *,
        block_size: int,
        capacity_blocks: int | None = None,
    ) -> None:
        self.catalog = catalog
        self.encoder = encoder
        self.block_size = block_size
        self.capacity_blocks = capacity_blocks
        self.encoded: list[Encoded] = []
        self._slabs = HashSlabs()
        self.ids = functools.lru_cache(maxsize=_PROMPTS_KEPT)(self._ids)
        self.prompt = functools.lru_cache(maxsize=_PROMPTS_KEPT)(self._prompt)

    def add(self, request: Request) -> None:
        """Catalogue and encode the next request of the trace. Mutates; call it in recorded order."""
        self.catalog.add(request)
        encoded = self.encode(request)
        self.encoded.append(Encoded(self._slabs.keep(encoded.blocks), encoded.prompt_tokens))

    def encode(self, request: Request) -> Encoded:
        """Hashes of a request, recorded or changed. Does not mutate."""
        return encoded_request(request, self.encoder, self.block_size)

    def hash_ids(self, request: Request, ids: TokenIds) -> Encoded:
        """Hashes of ``ids`` as the prompt of ``request``. Does not mutate."""
        return encoded_ids(request, ids, self.block_size)

    def past_ids(self, index: int) -> TokenIds:
        """The prompt of a row and, where it is recorded as tokens, its answer: what its blocks hold."""
        answer = self.catalog.rows[index].answer_token_ids
        ids = self.ids(index)
        known = answer is not None and self.catalog.rows[index].prompt_token_ids is not None
        return np.concatenate([ids, answer]) if known else ids

    def rendered_text(self, request: Request, now_s: float | None) -> str:
        """The prompt text of ``request`` as the template renders it at another time."""
        return self.encoder.rendered(msgspec.structs.replace(request, time_s=now_s)).text

    def replay(
        self,
        changed: Mapping[int, Encoded] | None = None,
        *,
        reading: frozenset[int] = frozenset(),
        unbounded: bool = False,
    ) -> list[ReplayRow]:
        """Simulated hits, with some requests ``changed`` (by row). Does not mutate.

        Rows in ``reading`` look up the cache although a parameter of theirs forbids it;
        ``unbounded`` ignores the capacity.
        """
        capacity = None if unbounded else self.capacity_blocks
        requests = self.cache_requests(changed or {}, reading)
        return replay(requests, block_size=self.block_size, capacity_blocks=capacity)

    def cache_requests(self, changed: Mapping[int, Encoded], reading: frozenset[int]) -> list[CacheRequest]:
        """All requests as ``replay`` takes them, in catalog order. Does not mutate."""
        return [
            self._cache_request(row, changed.get(row.index, encoded), row.index in reading)
            for row, encoded in zip(self.catalog.rows, self.encoded, strict=True)
        ]

    def shared_prefixes(self) -> list[SharedPrefix]:
        """Per request, the longest block prefix that any earlier request had."""
        return longest_shared_prefix([encoded.blocks for encoded in self.encoded])

    def _cache_request(self, row: Row, encoded: Encoded, reading: bool) -> CacheRequest:
        param = read_skipping_param(self.catalog.params(row), is_chat=row.prompt_text is None)
        skips = param is not None and not reading
        return CacheRequest(encoded.blocks, encoded.prompt_tokens, row.output_tokens, skips)

    def _ids(self, index: int) -> TokenIds:
        row = self.catalog.rows[index]
        if row.prompt_token_ids is not None:
            return row.prompt_token_ids
        return self.encoder.ids(self.catalog.request(row))

    def _prompt(self, index: int) -> Prompt:
        return self.encoder.prompt(self.catalog.request(self.catalog.rows[index]))


def common_prefix(a: TokenIds | BlockHashes, b: TokenIds | BlockHashes) -> int:
    """Number of equal leading tokens, or blocks."""
    shorter = min(len(a), len(b))
    unequal = np.flatnonzero(a[:shorter] != b[:shorter])
    return int(unequal[0]) if len(unequal) else shorter
