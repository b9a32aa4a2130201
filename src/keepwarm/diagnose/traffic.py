"""A trace as the cache sees it: prompts encoded and hashed once, replayed as often as needed."""

from __future__ import annotations

import functools
from array import array
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence

import msgspec
import numpy as np

from keepwarm.cache.holders import SharedPrefix, longest_shared_prefix
from keepwarm.cache.replay import CacheRequest, ReplayRow, replayed
from keepwarm.diagnose.changed import SpilledChanges
from keepwarm.diagnose.sample import Sample
from keepwarm.trace.blocks import (
    Encoded,
    encoded_ids,
    encoded_request,
    packed,
    read_skipping_param,
    unpacked,
)
from keepwarm.trace.catalog import Catalog
from keepwarm.trace.columns import Column, Made, Stores
from keepwarm.trace.encode import PromptEncoder
from keepwarm.trace.hashes import BlockHashes
from keepwarm.trace.prompt import Prompt, TokenIds
from keepwarm.trace.records import Request

_PROMPTS_KEPT = 64  # more than the few earlier requests that one is compared with
_PROMPTS_KEPT_OF_SPILLED = 16


class Traffic:
    """A catalog with an encoder and a simulated cache. ``encoded`` is in catalog order.

    ``ids(index)`` are the prompt tokens of a row and ``prompt(index)`` those tokens with provenance;
    both are made again on demand, and the ones asked for last are kept. Do not mutate them. ``sample`` is set
    where the catalog holds a part of a trace: only some of its requests count then.
    """

    def __init__(
        self,
        catalog: Catalog,
        encoder: PromptEncoder,
        *,
        block_size: int,
        capacity_blocks: int | None = None,
        stores: Stores | None = None,
    ) -> None:
        self.stores = stores or Stores()
        self.catalog = catalog
        self.encoder = encoder
        self.block_size = block_size
        self.capacity_blocks = capacity_blocks
        self.encoded = Column(self.stores.bytes("blocks"), packed, unpacked)
        self.sample: Sample | None = None
        self.prompt_tokens = array("q")  # of each request
        self._output_tokens = array("q")
        self._skips_reads = bytearray()
        kept = _PROMPTS_KEPT_OF_SPILLED if self.stores.spill else _PROMPTS_KEPT
        self.ids = functools.lru_cache(maxsize=kept)(self._ids)
        self.prompt = functools.lru_cache(maxsize=kept)(self._prompt)

    def add(self, request: Request) -> None:
        """Catalogue and encode the next request of the trace. Mutates; call it in recorded order."""
        row = self.catalog.add(request)
        if row.index < self.encoded.found:
            encoded = self.encoded.append_found()
        else:
            encoded = self.encode(request)
            self.encoded.append(encoded)
        self.prompt_tokens.append(encoded.prompt_tokens)
        self._output_tokens.append(row.output_tokens)
        skips = read_skipping_param(request.params, is_chat=request.prompt_text is None)
        self._skips_reads.append(skips is not None)

    def counted(self, rows: Iterable[int]) -> list[int]:
        """Those of ``rows`` that figures are of: all, but in a sample not its context."""
        sample = self.sample
        return list(rows) if sample is None else [i for i in rows if sample.is_counted(i)]

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
    ) -> Sequence[ReplayRow]:
        """Simulated hits, with some requests ``changed`` (by row). Does not mutate.

        Rows in ``reading`` look up the cache although a parameter of theirs forbids it;
        ``unbounded`` ignores the capacity.
        """
        capacity = None if unbounded else self.capacity_blocks
        prompts, hits = array("q"), array("q")
        for row in replayed(self.cache_requests(changed or {}, reading), self.block_size, capacity):
            prompts.append(row.prompt_tokens)
            hits.append(row.hit_tokens)
        return Made(len(hits), lambda index: ReplayRow(prompts[index], hits[index]))

    def cache_requests(
        self, changed: Mapping[int, Encoded], reading: frozenset[int]
    ) -> Sequence[CacheRequest]:
        """All requests as ``replay`` takes them, in catalog order. Does not mutate."""

        def made(index: int) -> CacheRequest:
            encoded = changed.get(index) or self.encoded[index]
            skips = bool(self._skips_reads[index]) and index not in reading
            return CacheRequest(encoded.blocks, encoded.prompt_tokens, self._output_tokens[index], skips)

        return Made(len(self.encoded), made)

    def changes(self) -> MutableMapping[int, Encoded]:
        """Nothing changed yet: what ``replay`` takes, to be filled."""
        file = self.stores.scratch()
        return {} if file is None else SpilledChanges(file)

    def blocks(self) -> Sequence[BlockHashes]:
        """The block hashes of each request."""
        return Made(len(self.encoded), lambda index: self.encoded[index].blocks)

    def shared_prefixes(self) -> Iterator[SharedPrefix]:
        """Per request, the longest block prefix that any earlier request had."""
        return longest_shared_prefix(self.blocks())

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
