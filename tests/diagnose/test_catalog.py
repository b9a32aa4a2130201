from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwarm.trace.catalog import Catalog, message_key, message_text
from keepwarm.trace.contents import ContentStore
from keepwarm.trace.records import HashedPrompt, Request, Usage
from tests.diagnose.building import LONG, chat, message, requests

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text("abcde", max_size=3), JSON, max_size=4)


@given(st.lists(OBJECTS, max_size=4), st.lists(OBJECTS, max_size=3), OBJECTS, st.none() | OBJECTS)
def test_a_request_comes_back_as_it_went_in(
    messages: list, tools: list, params: dict, answer: dict | None
) -> None:
    item = Request(
        line=3,
        id="r",
        time_s=1.5,
        session="s",
        call_site="c",
        model="m",
        messages=messages,
        tools=tools,
        params=params,
        answer=answer,
        answer_token_ids=[7, 8],
        prompt_token_ids=[1, 2, 2**31 - 1],
        usage=Usage(prompt_tokens=4, output_tokens=2, cached_tokens=0),
        chat_template="t.jinja",
        block_size=32,
    )
    catalog = Catalog([item])
    again = catalog.request(catalog.rows[0])
    assert again == item
    assert json.dumps(again.messages) == json.dumps(messages)  # the order of keys, too


def test_hashed_and_rendered_prompts_come_back() -> None:
    items = [
        Request(
            line=1, id="h", hashed=HashedPrompt(hash_ids=[1, 2], block_size=4, input_tokens=9, scope="s")
        ),
        Request(line=2, id="p", prompt_text=LONG * 20),
    ]
    catalog = Catalog(items)
    assert [catalog.request(row) for row in catalog] == items
    assert len(catalog) == 2


@pytest.mark.parametrize(
    "text", ["ä€𝄞", "\x00\x1f\x7f", "\u2028\ufeff", "(\xb5/\xfd zstd?", "x" * 511, "x" * 512, "é" * 5000]
)
def test_any_text_comes_back(text: str) -> None:
    store = ContentStore()
    assert store.get(store.add({"content": text})) == {"content": text}
    assert store.get(store.add(text)) == text


def test_what_a_conversation_repeats_is_stored_once() -> None:
    texts = [f"{n} {LONG}" for n in range(40)]
    catalog = Catalog(requests([chat(*texts[: n + 1]) for n in range(40)]))
    assert len(catalog.store) == 40 + 1  # messages, and the empty parameters
    last = catalog.rows[-1].messages
    assert all(row.messages == last[: row.index + 1] for row in catalog)


def test_other_key_order_is_other_content() -> None:
    store = ContentStore()
    first, second = store.add({"a": 1, "b": 2}), store.add({"b": 2, "a": 1})
    assert first != second
    assert list(store.get(second)) == ["b", "a"]
    assert store.add({"a": 1, "b": 2}) == first
    assert len(store) == 2


def test_values_that_python_calls_equal_are_told_apart() -> None:
    store = ContentStore()
    assert len({store.add(value) for value in (1, True, 1.0, "1")}) == 4


@pytest.mark.parametrize(
    ("a", "b", "alike"),
    [
        (message("user", "Where is it?"), message("user", "  where\nIS it ?"), True),
        (message("user", "Where is it?"), message("assistant", "Where is it?"), False),
        (message("user", "Where is it?"), message("user", "Where was it?"), False),
        (message("user", f"{LONG} north"), message("user", f"{LONG} south"), True),
        (message("user", [{"type": "text", "text": "Hi"}]), message("user", "Hi"), True),
        (
            message("assistant", None, tool_calls=[{"function": {"name": "f", "arguments": "{}"}}]),
            message("assistant", None, tool_calls=[{"function": {"name": "f", "arguments": '{"a":1}'}}]),
            True,
        ),
        (
            message("assistant", None, tool_calls=[{"function": {"name": "f"}}]),
            message("assistant", None, tool_calls=[{"function": {"name": "g"}}]),
            False,
        ),
    ],
)
def test_the_key_of_a_message_survives_what_a_replay_does_to_it(a: dict, b: dict, alike: bool) -> None:
    assert (message_key(a) == message_key(b)) is alike
    assert -(2**63) <= message_key(a) < 2**63


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("a", "a"),
        (None, ""),
        (5, ""),
        ([{"text": "a"}, {"image_url": "u"}, "x", {"text": "b"}], "a\nb"),
        ([], ""),
    ],
)
def test_the_text_of_a_message(content: object, text: str) -> None:
    assert message_text({"content": content}) == text


def test_output_tokens() -> None:
    items = [
        Request(line=1, id="a", usage=Usage(output_tokens=9), answer_token_ids=[1, 2]),
        Request(line=2, id="b", usage=Usage(output_tokens=9)),
        Request(line=3, id="c"),
    ]
    assert [row.output_tokens for row in Catalog(items)] == [2, 9, 0]
