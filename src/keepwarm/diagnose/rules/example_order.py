"""The rule for shuffled examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from keepwarm.diagnose.findings import Evidence, Owner
from keepwarm.diagnose.fixes import OrderMessages
from keepwarm.diagnose.rules import _order
from keepwarm.diagnose.rules._slots import slot_candidates
from keepwarm.diagnose.rules.base import Anchor, Candidate, Rule
from keepwarm.diagnose.values import SlotType
from keepwarm.trace.catalog import HEAD_ROLES, Row
from keepwarm.trace.contents import ContentId

if TYPE_CHECKING:
    from keepwarm.diagnose.view import SiteView

_MIN_SHARED = 3
_MIN_SHARE_OF_SESSIONS = 0.5


class ExampleOrder(Rule):
    """The same few-shot examples come in another order.

    Examples are often shuffled or ranked per request. The text is the same in sum, but the prefix
    ends at the first example that stands elsewhere.

    **Recognised by** the same lines, or the same messages, in another order.

    **Fix.** One fixed order; if examples are chosen per request, put them behind the shared
    instructions and keep the chosen ones in a fixed order.

    **Not to be confused with** `retrieved-context`, where the examples themselves differ, and
    `moving-block`, where one block moves with the turns.
    """

    code = "example-order"
    owner = Owner.APP
    summary = "the same few-shot examples in another order"
    suggestion = "Send the examples in one fixed order."

    def candidates(self, view: SiteView) -> Iterable[Candidate]:
        """Shuffled lines of a stable text, shuffled example messages."""
        yield from slot_candidates(view, SlotType.ORDER, constant=True)
        examples = example_messages(view)
        if not examples:
            return
        ranks = _ranks(view, examples)
        units = {row.index: _units(view, row, examples) for row in view.rows}
        misplaced = {
            i: place
            for i, found in units.items()
            if (place := _first_misplaced(view, i, found, ranks)) is not None
        }
        if not misplaced:
            return
        rows, place = tuple(misplaced), min(misplaced.values())
        yield Candidate(
            path=f"messages[{place}].content",
            rows=rows,
            confidence=0.9,
            evidence=Evidence(
                request=view.catalog.rows[rows[0]].id,
                compared_with=view.rows[0].id,
                note=f"{len(examples)} messages that all requests share, in another order",
            ),
            order=_order.in_history(place),
            slot_type=SlotType.ORDER.value,
            fixes=(OrderMessages(ranks, units),),
            anchor=Anchor(rows[0], f"messages[{place}].content", 0),
        )


def example_messages(view: SiteView) -> frozenset[ContentId]:
    """Messages behind the head with which most sessions begin, in more than one order.

    What a conversation only comes to say later is no example, however often it is said.
    """
    first: dict[str, Row] = {}
    for row in view.rows:
        first.setdefault(view.sessions[row.index], row)
    carried: Counter[ContentId] = Counter()
    for row in first.values():
        for content in set(row.messages):
            if view.catalog.message(content).get("role") not in HEAD_ROLES:
                carried[content] += 1
    shared = frozenset(
        content for content, count in carried.items() if count >= max(2, _MIN_SHARE_OF_SESSIONS * len(first))
    )
    orders = {tuple(c for c in row.messages if c in shared) for row in view.rows}
    several = len([order for order in orders if len(order) == len(shared)]) > 1
    return shared if len(shared) >= _MIN_SHARED and several else frozenset()


def _units(view: SiteView, row: Row, examples: frozenset[ContentId]) -> list[list[int]]:
    """Runs of example messages that start with a user's message: question and answer move together."""
    units: list[list[int]] = []
    for i, content in enumerate(row.messages):
        if content not in examples:
            continue
        starts = view.catalog.message(content).get("role") == "user"
        if starts or not units or units[-1][-1] != i - 1:
            units.append([i])
        else:
            units[-1].append(i)
    return units


def _ranks(view: SiteView, examples: frozenset[ContentId]) -> dict[ContentId, int]:
    ranks: dict[ContentId, int] = {}
    for row in view.rows:
        for content in row.messages:
            if content in examples:
                ranks.setdefault(content, len(ranks))
    return ranks


def _first_misplaced(
    view: SiteView, index: int, units: Sequence[Sequence[int]], ranks: dict[ContentId, int]
) -> int | None:
    messages = view.catalog.rows[index].messages
    own = [ranks[messages[unit[0]]] for unit in units]
    return next((units[i][0] for i, (a, b) in enumerate(zip(own, sorted(own), strict=True)) if a != b), None)
