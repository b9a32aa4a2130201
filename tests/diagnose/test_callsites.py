"""Which requests belong to one call site, one session, and which earlier one each continues."""

from __future__ import annotations

import pytest

from keepwarm.diagnose import callsites
from keepwarm.diagnose.callsites import find_sites
from keepwarm.diagnose.sessions import Lineage, trace_lineage
from keepwarm.trace.catalog import Catalog
from keepwarm.trace.records import HashedPrompt, Request
from tests.diagnose.building import LONG, chat, request, traffic_of

OTHER = (
    "Write a title of at most five words for the talk below, in plain words and without quotation marks. "
    "Answer with the title alone. The title names what was asked for and not how it was said."
)


def site_of(*items: Request) -> list[int]:
    return list(find_sites(Catalog(items))[1])


def lineage(*items: Request) -> Lineage:
    traffic = traffic_of(items)
    return trace_lineage(traffic.catalog, [0] * len(items), [encoded.blocks for encoded in traffic.encoded])


def systems(*texts: str) -> list[Request]:
    return [request(n, chat(f"Ask {n}?", system=text), session=f"s{n}") for n, text in enumerate(texts)]


@pytest.mark.parametrize(
    "texts",
    [
        (f"It is 08:12.\n{LONG}", f"It is 09:40.\n{LONG}"),
        (f"{OTHER[:90]}\n{LONG}", f"{OTHER[90:]}\n{LONG}"),
        (LONG, f"{LONG}\nThe caller is Ann."),
    ],
    ids=["a clock on top", "a passage on top", "a name behind"],
)
def test_what_varies_in_a_stable_text_does_not_split_a_site(texts: tuple[str, str]) -> None:
    assert site_of(*systems(*texts)) == [0, 0]


def test_texts_that_share_a_phrase_are_two_sites() -> None:
    phrase = "Answer in plain words and in at most five."
    assert site_of(*systems(f"{LONG}{phrase}", f"{OTHER} {phrase}", f"{LONG}{phrase}")) == [0, 1, 0]


def test_heads_that_share_nothing_are_never_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[int] = []
    containment = callsites._containment

    def counted(a: frozenset[int], b: frozenset[int]) -> float:
        compared.append(len(a & b))
        return containment(a, b)

    monkeypatch.setattr(callsites, "_containment", counted)
    unlike = [" ".join(f"w{n}x{i}" for i in range(40)) for n in range(30)]
    assert site_of(*systems(*unlike, "", unlike[7] + " and more", "")) == [*range(30), 30, 7, 30]
    assert compared == [36]


def test_recorded_names_win_over_the_text() -> None:
    items = [request(n, chat("Ask?", system=LONG), call_site=name) for n, name in enumerate(("a", "b", "a"))]
    sites, numbers = find_sites(Catalog(items))
    assert numbers == (0, 1, 0)
    assert [(site.name, site.rows) for site in sites] == [("a", (0, 2)), ("b", (1,))]


def test_sites_of_one_name_are_told_apart_by_number() -> None:
    items = systems(f"Rules of work.\n{LONG}", f"Rules of work.\n{OTHER}")
    assert [site.name for site in find_sites(Catalog(items))[0]] == ["Rules of work.", "Rules of work. (2)"]


def test_every_request_has_a_site() -> None:
    items = [
        request(0, chat("Ask?")),
        request(1, prompt_text="Ask?"),
        request(2, hashed=HashedPrompt(hash_ids=[1], block_size=4, input_tokens=4)),
        request(3, []),
    ]
    sites, numbers = find_sites(Catalog(items))
    assert sorted(row for site in sites for row in site.rows) == [0, 1, 2, 3]
    assert len(numbers) == 4
    assert all(site.name for site in sites)


def test_a_branch_goes_on_from_its_own_past() -> None:
    left, right = chat("Where to?", "North."), chat("Where to?", "South.")
    items = [
        request(0, [*left, *chat("How far?")]),
        request(1, [*right, *chat("How deep?")]),
        request(2, [*left, *chat("How far?", "Nine miles.", "And the wind?")]),
        request(3, [*right, *chat("How deep?", "Four metres.", "And the swell?")]),
    ]
    assert lineage(*items).parents == (None, 0, 0, 1)


@pytest.mark.parametrize("replayed", ["North.", "North, by the chart."])
def test_of_equal_pasts_the_newest_is_continued(replayed: str) -> None:
    items = [request(n, chat("Where to?", "North.", "On?")) for n in range(2)]
    newest = request(2, chat("Where to?", replayed, "On?", "Aye.", "And then?"))
    assert lineage(*items, newest).parents == (None, 0, 1)


def test_sessions_that_are_not_recorded_are_found_by_growth() -> None:
    first, second = chat("Where to?"), chat("Which berth?")
    items = [
        request(0, first, session=None),
        request(1, second, session=None),
        request(2, [*first, *chat("North.", "On?")], session=None),
        request(3, [*second, *chat("Nine.", "When?")], session=None),
    ]
    found = lineage(*items)
    assert found.sessions[0] == found.sessions[2] != found.sessions[1] == found.sessions[3]


def test_parents_stay_within_session_and_site() -> None:
    items = [request(n, chat("Where to?", "North.", f"{n}?"), session="ab"[n % 2]) for n in range(4)]
    traffic = traffic_of(items)
    blocks = [encoded.blocks for encoded in traffic.encoded]
    assert trace_lineage(traffic.catalog, [0, 0, 1, 0], blocks).parents == (None, None, None, 1)
