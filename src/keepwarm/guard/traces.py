"""BEFORE and AFTER as the checks see them: read once, grouped by call site, paired request by request."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import NamedTuple

from keepwarm.diagnose.callsites import Site, find_sites
from keepwarm.diagnose.options import Options
from keepwarm.trace.catalog import Catalog, Row
from keepwarm.trace.open import open_trace
from keepwarm.trace.records import Skipped


class Recording(NamedTuple):
    """One trace: its requests, and what of the file could not be used."""

    sha256: str
    catalog: Catalog
    texts_known: bool  # else only hashes of blocks, or prompts without their system text and tools
    skipped: tuple[Skipped, ...]


class Pair(NamedTuple):
    """The same request before and after, by row."""

    before: Row
    after: Row


class Comparison(NamedTuple):
    """Both recordings, paired; ``site_of`` gives the call site of each row of BEFORE."""

    before: Recording
    after: Recording
    sites: tuple[Site, ...]
    site_of: tuple[int, ...]
    paired_by: str
    pairs: tuple[Pair, ...]
    only_before: tuple[str, ...]  # ids
    only_after: tuple[str, ...]

    def site(self, row: Row) -> Site:
        """The call site of a row of BEFORE."""
        return self.sites[self.site_of[row.index]]


class _Pairing(NamedTuple):
    pairs: tuple[Pair, ...]
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]


def compare_traces(before: Path, after: Path, options: Options) -> Comparison:
    """Read and pair two traces. Raises InputError: one cannot be read or has nothing usable."""
    first, second = _read(before, options), _read(after, options)
    sites, site_of = find_sites(first.catalog)
    paired_by, pairing = _pair(first.catalog.rows, second.catalog.rows)
    return Comparison(first, second, sites, site_of, paired_by, *pairing)


def _read(path: Path, options: Options) -> Recording:
    trace = open_trace(path, options.format)
    catalog = Catalog(trace.requests())
    known = trace.prompt_texts_known and trace.prompt_complete
    return Recording(trace.sha256, catalog, known, trace.skipped)


def _pair(before: Sequence[Row], after: Sequence[Row]) -> tuple[str, _Pairing]:
    """By id and session if that pairs every request, else by session and position in it.

    Recorders that number requests as they complete give other numbers after a repair; where neither
    pairs all, the better one is taken and the rest stays unpaired.
    """
    by_id = _paired(before, after, lambda row, _position: (row.id, row.session))
    if not by_id.only_before and not by_id.only_after:
        return "id", by_id
    by_position = _paired(before, after, lambda row, position: (row.session, position))
    if len(by_position.pairs) > len(by_id.pairs):
        return "session and position", by_position
    return "id", by_id


def _paired(before: Sequence[Row], after: Sequence[Row], key: Callable[[Row, int], Hashable]) -> _Pairing:
    keyed, others = _keyed(before, key), _keyed(after, key)
    return _Pairing(
        tuple(Pair(row, others[name]) for name, row in keyed.items() if name in others),
        tuple(row.id for name, row in keyed.items() if name not in others),
        tuple(row.id for name, row in others.items() if name not in keyed),
    )


def _keyed(rows: Sequence[Row], key: Callable[[Row, int], Hashable]) -> dict[Hashable, Row]:
    """Ids are unique in a trace, and so are positions in a session: no row is lost."""
    positions: dict[str | None, int] = {}
    keyed: dict[Hashable, Row] = {}
    for row in rows:
        position = positions[row.session] = positions.get(row.session, 0) + 1
        keyed[key(row, position)] = row
    return keyed
