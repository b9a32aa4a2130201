"""The rule for salts and adapters that isolate what could be shared."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from keepwarm.diagnose.findings import Evidence, Owner
from keepwarm.diagnose.fixes import DropParam, SetModel
from keepwarm.diagnose.rules import _order
from keepwarm.diagnose.rules.base import Candidate, Rule
from keepwarm.diagnose.rules.model_switch import is_adapter_of, models_by_session, switched_adapters
from keepwarm.diagnose.values import SlotType
from keepwarm.trace.blocks import ADAPTER_PARAMS

if TYPE_CHECKING:
    from keepwarm.diagnose.view import SiteView


class Salt(Rule):
    """A cache salt or an adapter keeps apart what could be shared.

    A salt enters the hash of the first block, an adapter that of every block: requests with
    different ones share nothing, however equal their text. A salt per user is a decision about
    privacy; one per request switches the cache off.

    **Recognised by** different `cache_salt` values, or different adapters from session to session,
    over equal text.

    **Fix.** One salt per trust boundary (say, per organisation) and not per user or request;
    merged adapters, or routing by adapter, where many are served. Not a change of the prompt.

    **Not to be confused with** `model-switch`: another model or adapter within a session.
    """

    code = "salt"
    owner = Owner.ENGINE
    summary = "cache_salt or adapter isolates what could be shared"
    suggestion = (
        "Use one cache salt per trust boundary (an organisation, not a user or a request); whoever "
        "shares a salt can share prefixes."
    )

    def candidates(self, view: SiteView) -> Iterable[Candidate]:
        """Salts that differ, then adapters that differ between sessions."""
        salts = {row.index: view.catalog.params(row).get("cache_salt") for row in view.rows}
        salted = tuple(i for i, salt in salts.items() if salt is not None)
        kinds = {str(salts[i]) for i in salted}
        if salted and (len(kinds) > 1 or len(salted) < len(salts)):
            yield Candidate(
                path="cache_salt",
                rows=salted,
                confidence=0.95,
                evidence=Evidence(
                    request=view.catalog.rows[salted[-1]].id,
                    values=tuple(sorted(kinds))[:3],
                    note=f"{len(kinds)} salts in {len(salts)} requests",
                ),
                order=_order.SALT,
                slot_type=SlotType.ID.value,
                fixes=(DropParam("cache_salt", salted),),
                token_offset=0,
            )
        yield from _adapters(view)


def _adapters(view: SiteView) -> Iterable[Candidate]:
    for name in ADAPTER_PARAMS:
        named = {row.index: view.catalog.params(row).get(name) for row in view.rows}
        rows = tuple(i for i, value in named.items() if value)
        kinds = {str(value) for value in named.values()}
        if rows and len(kinds) > 1 and not switched_adapters(view, name):
            yield Candidate(
                path=name,
                rows=rows,
                confidence=0.8,
                evidence=Evidence(request=view.catalog.rows[rows[0]].id, note=f"{len(kinds)} adapters"),
                order=_order.SALT,
                fixes=(DropParam(name, rows),),
                token_offset=0,
            )
    by_session = models_by_session(view)
    models = list(dict.fromkeys(model for models in by_session.values() for model in models))
    related = [m for m in models if any(is_adapter_of(m, n) or is_adapter_of(n, m) for n in models if n != m)]
    if not related or any(len(models) > 1 for models in by_session.values()):
        return
    moved = {row.index: related[0] for row in view.rows if row.model in related[1:]}
    if moved:
        yield Candidate(
            path="model",
            rows=tuple(moved),
            confidence=0.7,
            evidence=Evidence(request=view.catalog.rows[min(moved)].id, values=tuple(related[:3])),
            order=_order.SALT,
            fixes=(SetModel(moved),),
            token_offset=0,
        )
