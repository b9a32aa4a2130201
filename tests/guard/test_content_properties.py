"""Whatever moves as it may passes; whatever word is lost, new or another is caught, wherever it stands."""

from __future__ import annotations

import re
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from keepwarm.guard.content.declared import Declarations
from keepwarm.guard.content.differences import Allowed, Difference, differences
from keepwarm.guard.content.messages import Message
from keepwarm.guard.content.moves import Rules
from keepwarm.guard.content.pieces import Piece, Reading, message_pieces
from keepwarm.guard.content.stability import SitePieces
from keepwarm.trace.catalog import Catalog, Row
from keepwarm.trace.records import Request

WORD = st.sampled_from(
    ["pay", "refund", "never", "invoice", "14", "500", "day", "not", "the", ",", "(", "-", "€"]
)
SENTENCE = st.lists(WORD, min_size=2, max_size=7).map(lambda words: " ".join(words) + ".")
OWN = st.lists(SENTENCE, min_size=2, max_size=8, unique=True)
VALUE = st.lists(SENTENCE, min_size=1, max_size=3, unique=True)


class Site(NamedTuple):
    """One call site: what all its prompts say, and the values of each of five requests."""

    own: list[str]
    values: list[list[str]]
    questions: list[str]


@st.composite
def sites(draw: st.DrawFn) -> Site:
    own = draw(OWN)
    values = [[f"{text[:-1]} v{n}." for text in draw(VALUE)] for n in range(5)]
    return Site(own, values, [draw(SENTENCE) + f" q{n}" for n in range(5)])


def prompt(site: Site, n: int, place: int) -> list[dict[str, str]]:
    lines = [*site.own[:place], *site.values[n], *site.own[place:]]
    return [{"role": "system", "content": "\n".join(lines)}, {"role": "user", "content": site.questions[n]}]


def found(
    site: Site, before: list[list[dict[str, str]]], after: list[dict[str, str]]
) -> tuple[Difference, ...]:
    """What differs in the first request of ``before``."""
    catalog = Catalog(Request(line=n, id=str(n), messages=list(m)) for n, m in enumerate(before))

    def pieces_of(row: Row) -> list[tuple[str, Piece]]:
        messages = [catalog.message(content) for content in row.messages]
        return [(m["role"], piece) for m in messages for piece in message_pieces(m, Reading())]

    allowed = Allowed(
        Rules(moves_allowed=True, movable=lambda index: index == 0, any_order=False),
        Declarations((), ()),
        SitePieces(catalog.rows, pieces_of),
    )
    first, second = (
        [Message(m["role"], message_pieces(m, Reading())) for m in messages]
        for messages in (before[0], after)
    )
    return differences(first, second, allowed)


def requests(site: Site, place: int) -> list[list[dict[str, str]]]:
    return [prompt(site, n, place) for n in range(5)]


PLACES = st.tuples(st.integers(0, 8), st.integers(0, 8))


@given(sites(), PLACES)
def test_a_value_may_stand_anywhere_in_its_role(site: Site, places: tuple[int, int]) -> None:
    assert found(site, requests(site, places[0]), prompt(site, 0, places[1])) == ()


@given(sites(), PLACES, st.data())
def test_a_value_may_go_to_another_message_of_its_role(
    site: Site, places: tuple[int, int], data: st.DataObject
) -> None:
    user = prompt(site, 0, 0)[1]
    rest = {"role": "system", "content": "\n".join(site.own)}
    value = {"role": "system", "content": "\n".join(site.values[0])}
    assert (
        found(
            site,
            requests(site, places[0]),
            data.draw(st.sampled_from([[rest, user, value], [value, rest, user]])),
        )
        == ()
    )


@given(sites(), PLACES, st.data())
def test_any_word_that_is_lost_new_or_another_is_caught(
    site: Site, places: tuple[int, int], data: st.DataObject
) -> None:
    after = prompt(site, 0, places[1])
    message = after[data.draw(st.integers(0, 1))]
    spans = [match.span() for match in re.finditer(r"\S+", message["content"])]
    start, end = data.draw(st.sampled_from(spans))
    word, text = message["content"][start:end], message["content"]
    kind = data.draw(st.sampled_from(["lost", "new", "another", "twice", "character"]))
    instead = {
        "lost": "",
        "new": f"{word} {data.draw(WORD)}",
        "another": data.draw(WORD.filter(lambda other: other != word)),
        "twice": f"{word} {word}",
        "character": word[:-1],
    }[kind]
    message["content"] = text[:start] + instead + text[end:]
    assert found(site, requests(site, places[0]), after)


@given(sites(), PLACES, st.data())
def test_own_text_in_another_order_is_caught(
    site: Site, places: tuple[int, int], data: st.DataObject
) -> None:
    shuffled = data.draw(st.permutations(site.own).filter(lambda own: list(own) != site.own))
    after = prompt(site._replace(own=list(shuffled)), 0, places[1])
    if _is_label_move(site, places[0], after[0]["content"].split("\n")):
        return
    assert found(site, requests(site, places[0]), after)


@given(sites(), PLACES, st.data())
def test_a_passage_in_another_order_is_caught(
    site: Site, places: tuple[int, int], data: st.DataObject
) -> None:
    value = [*site.values[0], "one more v0.", "and another v0."]
    site = site._replace(values=[value, *site.values[1:]])
    shuffled = data.draw(st.permutations(value).filter(lambda order: list(order) != value))
    after = prompt(site._replace(values=[list(shuffled), *site.values[1:]]), 0, places[1])
    assert found(site, requests(site, places[0]), after)


@given(sites(), PLACES, st.data())
def test_a_word_in_another_role_is_caught(site: Site, places: tuple[int, int], data: st.DataObject) -> None:
    system, user = prompt(site, 0, places[1])
    lines = system["content"].split("\n")
    line = lines.pop(data.draw(st.integers(0, len(lines) - 1)))
    after = [{**system, "content": "\n".join(lines)}, {**user, "content": f"{line}\n{user['content']}"}]
    kinds = {difference.kind for difference in found(site, requests(site, places[0]), after)}
    assert "other-role" in kinds


def _is_label_move(site: Site, place: int, after: list[str]) -> bool:
    """Whether own text only went along with the value beside it, two pieces before or one after."""
    place = min(place, len(site.own))
    value = site.values[0]
    at = after.index(value[0])
    before = after[max(0, at - 2) : at]
    carried = set()
    for mine, theirs in zip(reversed(site.own[max(0, place - 2) : place]), reversed(before), strict=False):
        if mine != theirs:
            break
        carried.add(mine)
    end = at + len(value)
    if end < len(after) and place < len(site.own) and after[end] == site.own[place]:
        carried.add(after[end])
    rest = [line for line in after if line in site.own and line not in carried]
    return rest == [line for line in site.own if line not in carried]
