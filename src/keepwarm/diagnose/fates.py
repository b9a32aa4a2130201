"""What happened to each prompt token: hit, forced, partial, cold, diverged or evicted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from keepwarm.diagnose.carried import CarriedContent, Shingles
from keepwarm.diagnose.findings import TokenFates
from keepwarm.diagnose.measured import Measured
from keepwarm.diagnose.prompt_map import FATES
from keepwarm.diagnose.runs import Runs, joined
from keepwarm.diagnose.sessions import Lineage
from keepwarm.diagnose.traffic import Traffic
from keepwarm.trace.catalog import Row

HIT, FORCED, PARTIAL, COLD, DIVERGED, EVICTED = range(len(FATES))


class Told(NamedTuple):
    """The fates of a prompt: where they are, and how many tokens of each, which is the sum of the runs."""

    runs: Runs
    tokens: TokenFates


class FateTeller:
    """Tells the fates of requests, which have to be asked for in catalog order."""

    def __init__(self, traffic: Traffic, measured: Measured, lineage: Lineage, sites: Sequence[int]) -> None:
        self._traffic = traffic
        self._measured = measured
        self._lineage = lineage
        self._sites = sites
        self._carried: dict[int, CarriedContent] = {}
        self._shingles = Shingles(traffic.catalog)

    def tell(self, row: Row) -> Told:
        """What happened to each token of the row, up to its last one. Remembers the row."""
        content = self._content(row)
        runs = _runs(self._traffic, self._measured, row, content, self._lineage.parents[row.index])
        content.add(row)
        counts = dict(zip(FATES, runs.counts(len(FATES)), strict=True))
        return Told(runs, TokenFates(prompt=self._measured.prompt[row.index], **counts))

    def remember(self, row: Row) -> None:
        """What ``tell`` does for the rows behind this one, where the row's own fates are known."""
        self._content(row).add(row)

    def _content(self, row: Row) -> CarriedContent:
        site = self._sites[row.index]
        if site not in self._carried:
            self._carried[site] = CarriedContent(self._traffic.catalog, self._shingles)
        return self._carried[site]


def _runs(
    traffic: Traffic, measured: Measured, row: Row, content: CarriedContent, parent: int | None
) -> Runs:
    """Hits come first, then what was evicted, then what was missed; last the forced block and the tail."""
    block, prompt = measured.block_size, measured.prompt[row.index]
    hit, reachable = measured.hit[row.index], measured.hit_unbounded[row.index]
    full = prompt - prompt % block
    if row.hashed is not None:
        full = min(full, len(traffic.encoded[row.index].blocks) * block)
    all_shared = measured.shared[row.index].blocks * block >= prompt > 0
    missed_end = full - block if all_shared and reachable == full - block else full
    codes, ends = [HIT, EVICTED, COLD], [hit, reachable, missed_end]
    if reachable < missed_end and row.hashed is None:
        prompt_tokens = traffic.prompt(row.index)
        carried = content.carried(prompt_tokens, row, parent, reachable, missed_end)
        turns = np.flatnonzero(carried[1:] != carried[:-1]) + 1
        begins = [0, *turns.tolist()]
        codes = [HIT, EVICTED, *(DIVERGED if carried[at] else COLD for at in begins)]
        ends = [hit, reachable, *(reachable + at for at in begins[1:]), missed_end]
    return joined([*codes, FORCED, PARTIAL], [*ends, full, prompt])


def add_fates(fates: Iterable[TokenFates]) -> TokenFates:
    """The sum of several requests' fates."""
    names = TokenFates.__struct_fields__
    sums = dict.fromkeys(names, 0)
    for item in fates:
        for name in names:
            sums[name] += getattr(item, name)
    return TokenFates(**sums)
