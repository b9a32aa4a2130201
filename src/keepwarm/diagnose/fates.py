"""What happened to each prompt token: hit, forced, partial, cold, diverged or evicted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from keepwarm.diagnose.carried import CarriedContent, Shingles
from keepwarm.diagnose.findings import TokenFates
from keepwarm.diagnose.measured import Measured
from keepwarm.diagnose.sessions import Lineage
from keepwarm.diagnose.traffic import Traffic
from keepwarm.trace.catalog import Row


class FateTeller:
    """Tells the fates of requests, which have to be asked for in catalog order."""

    def __init__(self, traffic: Traffic, measured: Measured, lineage: Lineage, sites: Sequence[int]) -> None:
        self._traffic = traffic
        self._measured = measured
        self._lineage = lineage
        self._sites = sites
        self._carried: dict[int, CarriedContent] = {}
        self._shingles = Shingles(traffic.catalog)

    def tell(self, row: Row) -> TokenFates:
        """What happened to each token of the row; the six add up to its prompt. Remembers the row."""
        site = self._sites[row.index]
        if site not in self._carried:
            self._carried[site] = CarriedContent(self._traffic.catalog, self._shingles)
        content = self._carried[site]
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


def add_fates(fates: Sequence[TokenFates]) -> TokenFates:
    """The sum of several requests' fates."""
    fields = TokenFates.__struct_fields__
    sums: Mapping[str, int] = {name: sum(getattr(item, name) for item in fates) for name in fields}
    return TokenFates(**sums)
