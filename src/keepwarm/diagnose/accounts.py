"""What is known of a whole trace before causes are named: sites, sessions, fates, breaks."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from keepwarm._progress import Progress
from keepwarm.diagnose.breaks import Break, find_break
from keepwarm.diagnose.callsites import Site, find_sites
from keepwarm.diagnose.fates import FateTeller
from keepwarm.diagnose.findings import TokenFates
from keepwarm.diagnose.ledger import Account, Ledger
from keepwarm.diagnose.measured import Measured, measure
from keepwarm.diagnose.runs import MapRuns
from keepwarm.diagnose.sections import SectionTeller
from keepwarm.diagnose.sessions import Lineage, trace_lineage
from keepwarm.diagnose.traffic import Traffic
from keepwarm.trace.catalog import Row


class Accounts(msgspec.Struct, frozen=True, kw_only=True):
    """Per request, in catalog order: site number, fates, where in the prompt they are, and break."""

    traffic: Traffic
    sites: tuple[Site, ...]
    site_of: Sequence[int]
    lineage: Lineage
    measured: Measured
    fates: Sequence[TokenFates]
    runs: MapRuns
    breaks: Sequence[Break | None]

    def lost_tokens(self, rows: Sequence[int]) -> int:
        """Tokens of ``rows`` that could have been hits: diverged, evicted, or short of the simulation."""
        return sum(map(self.lost, self.traffic.counted(rows)))

    def lost(self, index: int) -> int:
        """The same of one request."""
        fates = self.fates[index]
        return fates.diverged + fates.evicted + self.measured.shortfall[index]


def take_accounts(traffic: Traffic, ttl_s: float | None, progress: Progress) -> Accounts:
    """Simulate the trace and account for every prompt token."""
    progress.stage("simulating", None)
    sites, site_of = find_sites(traffic.catalog)
    lineage = trace_lineage(traffic.catalog, site_of, traffic.blocks())
    measured = measure(traffic, ttl_s)
    progress.stage("accounting", len(traffic.catalog))
    ledger = Ledger(traffic.stores)
    teller = _Teller(traffic, measured, lineage, site_of)
    for row in traffic.catalog.rows:
        if row.index < ledger.found:
            teller.remember(row)
            ledger.add_found()
        else:
            ledger.add(teller.told(row))
        progress.advance()
    prompts = np.asarray(measured.prompt, dtype=np.int32)
    return Accounts(
        traffic=traffic,
        sites=sites,
        site_of=site_of,
        lineage=lineage,
        measured=measured,
        fates=ledger.fates,
        runs=MapRuns(traffic.block_size, prompts, ledger.fate_runs.column(), ledger.section_runs.column()),
        breaks=ledger.breaks,
    )


class _Teller:
    """Accounts for requests, in catalog order: one after another, as all need the prompt's tokens."""

    def __init__(
        self, traffic: Traffic, measured: Measured, lineage: Lineage, site_of: Sequence[int]
    ) -> None:
        self._traffic = traffic
        self._shared = measured.shared
        self._parents = lineage.parents
        self._site_of = site_of
        self._fates = FateTeller(traffic, measured, lineage, site_of)
        self._sections = SectionTeller(traffic, measured, lineage)
        self._newest: dict[int, int] = {}  # of each site

    def told(self, row: Row) -> Account:
        """The account of the next row."""
        index, site = row.index, self._site_of[row.index]
        told = self._fates.tell(row)
        sections = self._sections.tell(row)
        related = (self._parents[index], self._newest.get(site))
        self._newest[site] = index
        return Account(
            told.tokens, told.runs, sections, find_break(self._traffic, index, self._shared[index], related)
        )

    def remember(self, row: Row) -> None:
        """The next row has been accounted for: nothing is rendered, but later ones are compared with it."""
        self._fates.remember(row)
        self._newest[self._site_of[row.index]] = row.index
