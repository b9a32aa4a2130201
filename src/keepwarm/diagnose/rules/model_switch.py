"""The rule for another model within a session."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from keepwarm.diagnose.findings import Evidence, Owner
from keepwarm.diagnose.fixes import DropParam, SetModel
from keepwarm.diagnose.rules import _order
from keepwarm.diagnose.rules.base import Candidate, Rule
from keepwarm.trace.blocks import ADAPTER_PARAMS

if TYPE_CHECKING:
    from keepwarm.diagnose.view import SiteView

_ADAPTER_NAME = re.compile(r"lora|adapter", re.IGNORECASE)


class ModelSwitch(Rule):
    """Another model or adapter answers within one session.

    Caches belong to a model: KV computed by one is of no use to another, and an adapter counts as
    another model. A router that picks a model per turn makes both compute the whole conversation.

    **Recognised by** more than one model (or adapter) in requests of one session and call site.

    **Fix.** Choose the model once per session; switch only when a session starts anew.

    **Not to be confused with** `salt`, for adapters that differ between sessions.
    """

    code = "model-switch"
    owner = Owner.APP
    summary = "another model or adapter within a session"
    suggestion = "Choose the model once per session and stay with it; route by session, not by message."

    def candidates(self, view: SiteView) -> Iterable[Candidate]:
        """Sessions answered by several models, or by one with adapters that a parameter names."""
        yield from _adapters(view)
        by_session = models_by_session(view)
        switched = {session: models for session, models in by_session.items() if len(models) > 1}
        if not switched or not view.has_sessions:
            return
        usual = Counter(row.model for row in view.rows)  # what other sessions have cached as well
        stay = {
            row.index: max(switched[s], key=usual.__getitem__)
            for row in view.rows
            if (s := view.sessions[row.index]) in switched
        }
        rows = tuple(
            row.index
            for row in view.rows
            if (parent := view.parents[row.index]) is not None
            and view.catalog.rows[parent].model != row.model
        )
        if not rows:
            return
        yield Candidate(
            path="model",
            rows=rows,
            confidence=0.95,
            evidence=Evidence(
                request=view.catalog.rows[rows[0]].id,
                compared_with=view.catalog.rows[view.parents[rows[0]] or 0].id,
                values=tuple(next(iter(switched.values())))[:3],
                note=f"{len(switched)} of {len(by_session)} sessions change their model",
            ),
            order=_order.MODEL,
            fixes=(SetModel(stay),),
            token_offset=0,
        )


def _adapters(view: SiteView) -> Iterable[Candidate]:
    for name in ADAPTER_PARAMS:
        rows = switched_adapters(view, name)
        if rows:
            yield Candidate(
                path=name,
                rows=rows,
                confidence=0.9,
                evidence=Evidence(
                    request=view.catalog.rows[rows[0]].id, note="not the adapter of the turn before"
                ),
                order=_order.MODEL,
                fixes=(DropParam(name, (row.index for row in view.rows)),),
                token_offset=0,
            )


def switched_adapters(view: SiteView, name: str) -> tuple[int, ...]:
    """Rows whose adapter, as parameter ``name`` gives it, is not that of the request they continue."""
    return tuple(
        row.index
        for row in view.rows
        if (parent := view.parents[row.index]) is not None
        and view.catalog.params(view.catalog.rows[parent]).get(name) != view.catalog.params(row).get(name)
    )


def models_by_session(view: SiteView) -> dict[str, list[str]]:
    """Models of each session, in order of first use."""
    out: dict[str, list[str]] = {}
    for row in view.rows:
        models = out.setdefault(view.sessions[row.index], [])
        if row.model not in models:
            models.append(row.model)
    return out


def is_adapter_of(name: str, base: str) -> bool:
    """Whether a served model's name reads as an adapter on ``base``."""
    return (
        name.startswith(base)
        and len(name) > len(base)
        and _ADAPTER_NAME.search(name[len(base) :]) is not None
    )
