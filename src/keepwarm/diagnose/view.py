"""Everything the rules look at for one call site, worked out once."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Sequence

from keepwarm.diagnose.callsites import Site
from keepwarm.diagnose.changes import Change, ChangeKind, explain
from keepwarm.diagnose.edits import Alignment, align
from keepwarm.diagnose.measured import Measured
from keepwarm.diagnose.sessions import Lineage
from keepwarm.diagnose.tool_lists import ToolChanges, tool_changes
from keepwarm.diagnose.traffic import Traffic
from keepwarm.diagnose.typed_slots import SlotFinder, TypedSlot
from keepwarm.trace.catalog import Catalog, Row

_OF_SLOTS = (ChangeKind.VALUE, ChangeKind.REWRITTEN)


class SiteView:
    """One call site. Properties are computed on first use and stay valid: traffic does not change."""

    def __init__(self, traffic: Traffic, site: Site, lineage: Lineage, measured: Measured) -> None:
        self.traffic = traffic
        self.measured = measured
        self.catalog: Catalog = traffic.catalog
        self.site = site
        self.lineage = lineage
        self.rows: list[Row] = [self.catalog.rows[i] for i in site.rows]
        self.sessions: Sequence[str] = lineage.sessions

    @functools.cached_property
    def parents(self) -> dict[int, int | None]:
        """The request that each one continues, within session and site."""
        return {row.index: self.lineage.parents[row.index] for row in self.rows}

    @functools.cached_property
    def alignments(self) -> dict[int, tuple[int, Alignment]]:
        """Row -> (parent row, alignment with it), for rows that have a parent and messages."""
        out = {}
        for row in self.rows:
            parent = self.parents[row.index]
            if parent is not None and row.messages and self.catalog.rows[parent].messages:
                out[row.index] = (parent, align(self.catalog, self.catalog.rows[parent], row))
        return out

    @functools.cached_property
    def changes(self) -> tuple[Change, ...]:
        """Explained edits of earlier messages, in row order. What nearly every request edits is a slot."""
        found = [
            change
            for _, alignment in self.alignments.values()
            for edit in alignment.edits
            for change in explain(self.catalog, edit)
        ]
        edited = Counter(change.path for change in found if change.kind in _OF_SLOTS)
        slots = {
            slot.place.path() for slot in self.slots if 2 * edited[slot.place.path()] > len(self.alignments)
        }
        return tuple(change for change in found if change.kind not in _OF_SLOTS or change.path not in slots)

    @functools.cached_property
    def tools(self) -> ToolChanges:
        """How the tool lists differ."""
        return tool_changes(self.catalog, self.rows, self.parents, self.sessions)

    @functools.cached_property
    def has_sessions(self) -> bool:
        """Whether any session has more than one request here."""
        return any(count > 1 for count in Counter(self.sessions[row.index] for row in self.rows).values())

    @functools.cached_property
    def slots(self) -> tuple[TypedSlot, ...]:
        """Slots of the leading messages (or of the recorded prompt text), in prompt order."""
        return SlotFinder(self.catalog, self.rows, self.sessions).slots()
