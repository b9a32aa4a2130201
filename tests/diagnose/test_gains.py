"""What causes give back when their fixes hide each other."""

from __future__ import annotations

import datetime as dt
import itertools
import random
import uuid
from collections.abc import Sequence

import msgspec
import pytest

from keepwarm.diagnose.accounts import Accounts
from keepwarm.diagnose.findings import Evidence
from keepwarm.diagnose.fixes import CutSlot, DropParam, Fix, Place
from keepwarm.diagnose.gains import Gain, Simulator, shared_gains
from keepwarm.diagnose.rules.base import Candidate
from keepwarm.diagnose.slots import Range
from keepwarm.diagnose.suspects import site_findings
from keepwarm.diagnose.view import SiteView
from keepwarm.trace.records import Request
from tests.diagnose.building import LONG, accounts_of, chat, request, traffic_of, view_of

COUNT = 6


def candidate(*fixes: Fix, order: float = 0.0, measured: dict[int, int] | None = None) -> Candidate:
    rows = tuple(range(COUNT))
    return Candidate(
        path=None, rows=rows, confidence=1.0, evidence=Evidence(), order=order, fixes=fixes, measured=measured
    )


def two_slots() -> list[Request]:
    """A slot on top, another in the middle; shared text behind each."""
    return [
        request(n, chat(f"Ask {n}?", system=f"{n + 100}\n{LONG * 2}\n{n + 500}\n{LONG * 3}"), session=f"s{n}")
        for n in range(COUNT)
    ]


def cut(start: int, end: int) -> CutSlot:
    return CutSlot(Place(0), {n: Range(start, end) for n in range(COUNT)}, constant="x", rows=range(COUNT))


@pytest.fixture
def view() -> SiteView:
    return view_of(traffic_of(two_slots()))


@pytest.fixture
def both(view: SiteView) -> list[Candidate]:
    text = str(view.catalog.request(view.rows[0]).messages[0]["content"])
    middle = text.index("500")
    return [candidate(cut(0, 3)), candidate(cut(middle, middle + 3), order=0.5)]


def hits(view: SiteView, candidates: Sequence[Candidate], *chosen: int) -> int:
    return Simulator(view, candidates).outcome(frozenset(chosen)).hit_tokens


def test_causes_that_hide_each_other_share_what_both_fixes_win(view: SiteView, both: list[Candidate]) -> None:
    nothing, top, middle, all_of_it = (hits(view, both, *c) for c in ((), (0,), (1,), (0, 1)))
    assert nothing == middle < top < all_of_it  # the lower one alone wins nothing
    first, second = shared_gains(view, both)
    assert first.recoverable_tokens == ((top - nothing) + (all_of_it - middle)) // 2
    assert second.recoverable_tokens == ((all_of_it - top) + (middle - nothing)) // 2
    assert first.recoverable_tokens > second.recoverable_tokens > 0
    assert (first.alone_tokens, second.alone_tokens) == (top - nothing, 0)


def test_gains_add_up_to_what_all_fixes_win_together(view: SiteView, both: list[Candidate]) -> None:
    gains = shared_gains(view, both)
    joint = hits(view, both, 0, 1) - hits(view, both)
    assert joint - len(gains) <= sum(gain.recoverable_tokens for gain in gains) <= joint


def test_a_cause_named_twice_wins_once(view: SiteView, both: list[Candidate]) -> None:
    once = shared_gains(view, both[:1])[0].recoverable_tokens
    twice = shared_gains(view, [both[0], both[0]])
    assert [gain.recoverable_tokens for gain in twice] == [once // 2, once // 2]


def test_a_fix_that_changes_nothing_wins_nothing(view: SiteView) -> None:
    assert shared_gains(view, [candidate(DropParam("absent", range(COUNT)))]) == [Gain(0, 0, 0)]


def test_a_fix_that_does_harm_wins_nothing() -> None:
    items = [request(n, chat(f"Ask {n}?", system=LONG * 3), session=f"s{n}") for n in range(COUNT)]
    view = view_of(traffic_of(items))
    shifts = [
        CutSlot(Place(0), {n: Range(n, n + 1)}, constant="", rows=[n]) for n in range(COUNT)
    ]  # another letter off in each request
    assert hits(view, [candidate(*shifts)], 0) < hits(view, [])
    assert shared_gains(view, [candidate(*shifts)])[0].recoverable_tokens == 0


def test_measured_candidates_bring_their_own_figure_and_take_no_part(
    view: SiteView, both: list[Candidate]
) -> None:
    measured = candidate(measured={1: 70, 4: 30})
    gains = shared_gains(view, [measured, *both])
    assert gains[0] == Gain(100, 0, 100)
    assert gains[1:] == shared_gains(view, both)


def test_what_a_fix_puts_into_prompts_is_told(view: SiteView) -> None:
    filled = CutSlot(Place(0), {n: Range(0, 3) for n in range(COUNT)}, constant=LONG, rows=range(COUNT))
    (gain,) = shared_gains(view, [candidate(filled)])
    assert gain.added_tokens > 30 * COUNT
    assert gain.recoverable_tokens > 0


def found(accounts: Accounts) -> dict[str, tuple[int, str | None]]:
    findings = [proven.finding for site in accounts.sites for proven in site_findings(accounts, site)]
    return {finding.cause: (finding.recoverable_tokens, finding.path) for finding in findings}


def test_two_texts_that_vary_in_one_tool_are_two_findings_whose_fixes_add_up() -> None:
    rng = random.Random(4)
    items = []
    for n in range(8):
        fresh, item = uuid.UUID(int=rng.getrandbits(128)), request(n, session=f"s{n}")
        now = dt.datetime.fromtimestamp(item.time_s or 0.0, dt.UTC)
        boat = {
            "type": "string",
            "description": f"Name of the boat as painted on its stern, asked for by {fresh}.",
        }
        properties = {"boat": boat, "pier": {"type": "string", "description": LONG}}
        function = {
            "name": "find",
            "description": f"Berths as of {now:%Y-%m-%d %H:%M:%S}.",
            "parameters": {"type": "object", "properties": properties},
        }
        tools = [{"type": "function", "function": function}]
        messages = chat(f"Ask {n}?", system=LONG * 2)
        items.append(msgspec.structs.replace(item, messages=messages, tools=tools))
    accounts = accounts_of(traffic_of(items))
    findings = found(accounts)
    lost = sum(accounts.lost_tokens(site.rows) for site in accounts.sites)
    assert set(findings) == {"clock", "random-id"}
    assert sum(tokens for tokens, _ in findings.values()) > 0.8 * lost


def test_findings_of_a_site_never_add_up_to_more_than_it_lost() -> None:
    rng = random.Random(9)
    for lines in itertools.product((0, 1), repeat=3):
        items = []
        for n in range(6):
            system = "\n".join(
                [LONG, *(f"{rng.getrandbits(40):010x}\n{LONG}" if varies else LONG for varies in lines)]
            )
            items.append(request(n, chat(f"Ask {n}?", system=system), session=f"s{n}"))
        accounts = accounts_of(traffic_of(items))
        total = sum(tokens for tokens, _ in found(accounts).values())
        assert total <= sum(accounts.lost_tokens(site.rows) for site in accounts.sites)
        assert (total > 0) is any(lines)
