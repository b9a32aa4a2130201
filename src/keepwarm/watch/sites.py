"""Requests attributed to call sites as they come, as ``diagnose`` would, in bounded memory.

Attribution needs the requests before: they are kept as a catalog of at most ``KEPT_REQUESTS``. When it is
full, a new one begins with the newer half and the last request of every call site, so each keeps its id.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from keepwarm._text import clip, visible
from keepwarm.cache.pool import BlockPool
from keepwarm.cache.replay import CacheRequest, asked_blocks, is_too_large
from keepwarm.diagnose.callsites import SiteFinder
from keepwarm.diagnose.report.mask import mask, without_secrets
from keepwarm.policies.lru import Lru
from keepwarm.trace.blocks import encoded_request, read_skipping_param
from keepwarm.trace.catalog import Catalog, Row
from keepwarm.trace.encode import PromptEncoder
from keepwarm.trace.records import Request
from keepwarm.watch.meters import SiteMeter, Tokens

KEPT_REQUESTS = 2_000
MOST_SITES = 50
OTHER = "other"
CAPACITY_BLOCKS = 262_144
_NAME_CHARS = 48


class SimulatedCache:
    """vLLM's prefix cache under LRU, one request after another; answers take no space in it."""

    def __init__(self, block_size: int, capacity_blocks: int) -> None:
        self.block_size = block_size
        self._pool = BlockPool(capacity_blocks, Lru(capacity_blocks))

    def hit_tokens(self, request: CacheRequest) -> int:
        """Tokens of the prompt that are hits; the prompt is cached from then on. Mutates."""
        size, pool = self.block_size, self._pool
        if is_too_large(request, size, pool.capacity_blocks):
            return 0
        asked = asked_blocks(request, size).tolist()
        hits = pool.lookup(asked)
        table, _ = pool.admit(asked, hits, -(-request.prompt_tokens // size) - len(hits))
        full = request.blocks[: request.prompt_tokens // size].tolist()
        pool.cache_full_blocks(table, full, start=len(hits))
        pool.free(table)
        return len(hits) * size


class CallSites:
    """Meters by call site. ``add`` raises what ``encoder`` does, and then counts nothing."""

    def __init__(
        self, encoder: PromptEncoder, cache: SimulatedCache, *, kept_requests: int = KEPT_REQUESTS
    ) -> None:
        self._encoder, self._cache = encoder, cache
        self._kept_requests = kept_requests
        self._meters: dict[str, SiteMeter] = {}
        self._seen = 0  # call sites, those that are counted as others too
        self._newest: dict[str, Request] = {}
        self._catalog = Catalog()
        self._finder = SiteFinder(self._catalog)
        self._ids: dict[int, str] = {}  # of the finder's numbers
        self._row_ids: list[str] = []

    @property
    def meters(self) -> list[SiteMeter]:
        """Of every call site, in order of first use, the others together last."""
        return sorted(self._meters.values(), key=lambda meter: meter.site == OTHER)

    def add(self, request: Request) -> None:
        """Count the next request. Mutates."""
        encoded = encoded_request(request, self._encoder, self._cache.block_size)
        param = read_skipping_param(request.params, is_chat=request.prompt_text is None)
        asked = CacheRequest(encoded.blocks, encoded.prompt_tokens, skip_reads=param is not None)
        simulated = Tokens(encoded.prompt_tokens, self._cache.hit_tokens(asked))
        self._meter(request).add(simulated, _recorded(request))

    def _meter(self, request: Request) -> SiteMeter:
        if len(self._catalog) >= self._kept_requests:
            self._begin_anew()
        row = self._catalog.add(request)
        number = self._finder.assign(row)
        if number not in self._ids:
            self._ids[number] = self._new_id()
        site = self._ids[number]
        self._row_ids.append(site)
        if site not in self._meters:
            self._meters[site] = SiteMeter(site, "" if site == OTHER else self._name(number, row))
        if site != OTHER:
            self._newest[site] = request
        return self._meters[site]

    def _new_id(self) -> str:
        self._seen += 1
        return f"site-{self._seen}" if self._seen <= MOST_SITES else OTHER

    def _name(self, number: int, row: Row) -> str:
        """What the metadata says, else the length of the first stable line: no text of a prompt."""
        name = self._finder.name(number)
        if row.call_site is None:
            return mask(visible(name))
        return clip(without_secrets(visible(name)), _NAME_CHARS)

    def _begin_anew(self) -> None:
        half = self._kept_requests // 2
        old, ids = self._catalog, self._row_ids
        kept = [(site, old.request(row)) for site, row in zip(ids[-half:], old.rows[-half:], strict=True)]
        found = {site for site, _ in kept}
        kept = [(site, one) for site, one in self._newest.items() if site not in found] + kept
        self._catalog = Catalog()
        self._finder = SiteFinder(self._catalog)
        numbers = [self._finder.assign(self._catalog.add(request)) for _, request in kept]
        self._ids = _ids_of(numbers, [site for site, _ in kept])
        for number in numbers:
            if number not in self._ids:
                self._ids[number] = self._new_id()
        self._row_ids = [self._ids[number] for number in numbers]


def _ids_of(numbers: Iterable[int], ids: Iterable[str]) -> dict[int, str]:
    """The id that each number goes on with: the one most of its requests had; used once but for ``other``."""
    shared = Counter(zip(numbers, ids, strict=True))
    taken: dict[int, str] = {}
    for (number, site), _ in sorted(shared.items(), key=lambda item: (-item[1], item[0])):
        if number not in taken and (site == OTHER or site not in taken.values()):
            taken[number] = site
    return taken


def _recorded(request: Request) -> Tokens | None:
    """What the server counted; None where it did not say both."""
    prompt, cached = request.usage.prompt_tokens, request.usage.cached_tokens
    return None if prompt is None or cached is None else Tokens(prompt, cached)
