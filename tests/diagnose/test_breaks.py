from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwarm.diagnose.breaks import path_at, text_of, token_at
from keepwarm.trace.prompt import Prompt
from keepwarm.trace.records import HashedPrompt, Request
from tests.diagnose.building import LONG, accounts_of, chat, encoder, message, request, traffic_of

TOOL = {"type": "function", "function": {"name": "find", "description": "Find a berth."}}


def prompt(item: Request) -> Prompt:
    return encoder().prompt(item)


@pytest.fixture(scope="module")
def talk() -> Prompt:
    return prompt(request(0, chat("Where to?", "North.", "And then?", system=LONG), tools=[TOOL]))


@given(st.integers(0, len(LONG) - 1))
def test_the_token_of_a_character_holds_it(char: int) -> None:
    whole = prompt(request(0, chat("Where to?", system=LONG)))
    token = token_at(whole, "messages[0].content", char)
    assert token is not None
    start = whole.rendered.text.index(LONG) + char
    assert int(whole.char_starts[token]) <= start
    assert token + 1 == len(whole.ids) or start < int(whole.char_starts[token + 1])
    assert path_at(whole, token) == "messages[0].content"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("messages[1].content", "Where to?"),
        ("messages[3].content", "And then?"),
        ("tools[0]", '"find"'),
        ("tools", '"find"'),
    ],
)
def test_a_path_is_found_at_its_text_or_below(talk: Prompt, path: str, text: str) -> None:
    token = token_at(talk, path, 0)
    assert token is not None
    assert text in text_of(talk, token, token + 60)
    found = path_at(talk, token)
    assert found is not None
    assert found.startswith(path)


@pytest.mark.parametrize(
    "path", ["messages[9].content", "messages[1", "message", "messages[1]x", "tools[1]", "model"]
)
def test_a_path_that_is_not_printed_has_no_token(talk: Prompt, path: str) -> None:
    assert token_at(talk, path, 0) is None


def test_beyond_the_text_there_is_nothing(talk: Prompt) -> None:
    assert token_at(talk, "messages[1].content", 10_000) is None
    assert path_at(talk, len(talk.ids)) is None
    assert text_of(talk, -5, 0) == text_of(talk, len(talk.ids), len(talk.ids) + 5) == ""


@given(st.integers(-3, 80), st.integers(-3, 80))
def test_pieces_of_text_fit_together(a: int, b: int) -> None:
    whole = prompt(request(0, chat("Where to?", system="ä€ 𝄞 fog")))
    low, high = sorted((max(0, a), max(0, b)))
    assert (
        text_of(whole, 0, low) + text_of(whole, low, high) + text_of(whole, high, 10**6)
        == whole.rendered.text
    )


def test_a_break_shows_both_sides() -> None:
    items = [
        request(n, chat("Ask?", system=f"{LONG}\nIt is {clock}.\n{LONG}"), session=f"s{n}")
        for n, clock in enumerate(("08:12", "09:40"))
    ]
    first, second = accounts_of(traffic_of(items)).breaks
    assert first is None
    assert second is not None
    assert second.baseline == 0
    assert second.path == "messages[0].content"
    assert second.before.text.endswith("It is ")
    assert (second.here.text[:5], second.there.text[:5]) == ("09:40", "08:12")
    assert 0 < len(second.before.text) < len(LONG)


def test_a_break_in_the_first_block_is_a_break() -> None:
    items = [request(n, chat("Ask?", system=f"{n} {LONG}"), session=f"s{n}") for n in range(2)]
    _, second = accounts_of(traffic_of(items)).breaks
    assert second is not None
    assert second.token < 16
    assert (second.here.text[0], second.there.text[0]) == ("1", "0")


def test_a_break_knows_its_tokens_and_its_byte() -> None:
    items = [request(n, chat("Ask?", system=f"Fähre 🐈 {LONG} {n}"), session=f"s{n}") for n in range(2)]
    traffic = traffic_of(items)
    _, found = accounts_of(traffic).breaks
    assert found is not None
    whole = traffic.prompt(1)
    start = int(whole.char_starts[found.token])
    assert found.byte == len(whole.rendered.text[:start].encode()) > start
    for excerpt in (found.before, found.here, found.there):
        assert sum(excerpt.token_chars) == len(excerpt.text) > 0
        assert min(excerpt.token_chars) >= 0
    ends = [*whole.char_starts.tolist(), len(whole.rendered.text)]
    assert found.here.token_chars == tuple(
        b - a for a, b in itertools.pairwise(ends[found.token : found.token + 13])
    )


def test_recorded_tokens_tell_no_byte_and_no_lengths() -> None:
    items = [request(n, chat("x y z"), prompt_token_ids=[*range(20), n]) for n in range(2)]
    _, found = accounts_of(traffic_of(items)).breaks
    assert found is not None
    assert found.byte is None
    assert found.before.token_chars == found.here.token_chars == found.there.token_chars == ()


def test_the_baseline_is_the_longest_prefix_of_any_earlier_request() -> None:
    texts = [f"{LONG}\nnorth {LONG}", f"{LONG}\nsouth {LONG}", f"{LONG}\nnorth {LONG} at noon"]
    items = [request(n, chat(text), session=f"s{n}") for n, text in enumerate(texts)]
    breaks = accounts_of(traffic_of(items)).breaks
    assert [item and item.baseline for item in breaks] == [None, 0, 0]


def test_the_break_of_a_prompt_that_goes_on_from_a_recorded_answer_lies_behind_it() -> None:
    first = request(0, chat("x"), prompt_token_ids=list(range(40)), answer_token_ids=[70, 71, 72, 73])
    second = request(1, chat("x", "y", "z"), prompt_token_ids=[*range(40), 70, 71, 72, 90, 91])
    _, found = accounts_of(traffic_of([first, second])).breaks
    assert found is not None
    assert found.token == 43


def test_no_break_without_text_or_where_nothing_is_left() -> None:
    twice = [request(n, chat("Ask?", system=LONG)) for n in range(2)]
    assert accounts_of(traffic_of(twice)).breaks == (None, None)
    hashed = [
        request(n, hashed=HashedPrompt(hash_ids=[1, n], block_size=8, input_tokens=16)) for n in range(2)
    ]
    assert accounts_of(traffic_of(hashed, block_size=8)).breaks == (None, None)


def test_parts_of_a_message_have_paths_of_their_own() -> None:
    parts = [{"type": "text", "text": "Look at this"}, {"type": "text", "text": "and that"}]
    whole = prompt(request(0, [message("user", parts)]))
    token = token_at(whole, "messages[0].content[1].text", 4)
    assert token is not None
    assert text_of(whole, token, token + 1).strip() == "that"
