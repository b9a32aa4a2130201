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
from keepwarm.diagnose.measured import Measured, measure
from keepwarm.diagnose.runs import MapRuns, RunGatherer
from keepwarm.diagnose.sections import SectionTeller
from keepwarm.diagnose.sessions import Lineage, trace_lineage
from keepwarm.diagnose.traffic import Traffic


class Accounts(msgspec.Struct, frozen=True, kw_only=True):
    """Per request, in catalog order: site number, fates, where in the prompt they are, and break."""

    traffic: Traffic
    sites: tuple[Site, ...]
    site_of: tuple[int, ...]
    lineage: Lineage
    measured: Measured
    fates: tuple[TokenFates, ...]
    runs: MapRuns
    breaks: tuple[Break | None, ...]

    def lost_tokens(self, rows: Sequence[int]) -> int:
        """Tokens of ``rows`` that could have been hits: diverged, evicted, or short of the simulation."""
        return sum(self.fates[i].diverged + self.fates[i].evicted + self.measured.shortfall[i] for i in rows)


def take_accounts(traffic: Traffic, ttl_s: float | None, progress: Progress) -> Accounts:
    """Simulate the trace and account for every prompt token."""
    progress.stage("simulating", None)
    sites, site_of = find_sites(traffic.catalog)
    lineage = trace_lineage(traffic.catalog, site_of, [encoded.blocks for encoded in traffic.encoded])
    measured = measure(traffic, ttl_s)
    progress.stage("accounting", len(traffic.catalog))
    teller = FateTeller(traffic, measured, lineage, site_of)
    sections = SectionTeller(traffic, measured, lineage)
    fates, breaks = [], []
    fate_runs, section_runs = RunGatherer(), RunGatherer()
    newest: dict[int, int] = {}  # of each site
    for row in traffic.catalog.rows:
        # In one pass: all need the prompt's tokens with provenance.
        told = teller.tell(row)
        fates.append(told.tokens)
        fate_runs.add(told.runs)
        section_runs.add(sections.tell(row))
        related = (lineage.parents[row.index], newest.get(site_of[row.index]))
        breaks.append(find_break(traffic, row.index, measured.shared[row.index], related))
        newest[site_of[row.index]] = row.index
        progress.advance()
    return Accounts(
        traffic=traffic,
        sites=sites,
        site_of=site_of,
        lineage=lineage,
        measured=measured,
        fates=tuple(fates),
        runs=MapRuns(
            traffic.block_size,
            np.asarray(measured.prompt, dtype=np.int32),
            fate_runs.column(),
            section_runs.column(),
        ),
        breaks=tuple(breaks),
    )
