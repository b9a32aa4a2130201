from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwarm.diagnose.edits import Alignment, EditKind, align
from keepwarm.trace.catalog import Catalog
from keepwarm.trace.records import JsonObject
from tests.diagnose.building import LONG, chat, message, requests

SYSTEM = "You keep the log of the ferry."
TEXTS = [
    f"{word} {LONG[n : n + 60]}"
    for n, word in enumerate(("bell", "rope", "lamp", "oar", "fog", "buoy", "keel"))
]

MESSAGES = st.builds(
    message,
    st.sampled_from(["user", "assistant", "tool"]),
    st.text("abcde \n", max_size=12) | st.sampled_from(TEXTS),
)


def aligned(before: list[JsonObject], after: list[JsonObject]) -> Alignment:
    catalog = Catalog(requests([before, after]))
    return align(catalog, catalog.rows[0], catalog.rows[1])


def kinds(alignment: Alignment) -> list[tuple[EditKind, int, int | None]]:
    return [(edit.kind, edit.old_index, edit.new_index) for edit in alignment.edits]


@given(st.lists(MESSAGES, min_size=1, max_size=6), st.lists(MESSAGES, max_size=4))
def test_a_conversation_that_only_grows_has_no_edits(
    before: list[JsonObject], more: list[JsonObject]
) -> None:
    alignment = aligned(before, before + more)
    assert alignment.edits == ()
    assert alignment.is_append
    assert alignment.pairs == tuple((i, i) for i in range(len(before)))
    assert alignment.added == tuple(range(len(before), len(before) + len(more)))


@given(st.lists(MESSAGES, min_size=1, max_size=6), st.lists(MESSAGES, min_size=1, max_size=6))
def test_any_two_conversations_can_be_laid_side_by_side(
    before: list[JsonObject], after: list[JsonObject]
) -> None:
    alignment = aligned(before, after)
    old, new = [i for i, _ in alignment.pairs], [j for _, j in alignment.pairs]
    assert old == sorted(set(old))
    assert len(set(new)) == len(new)
    assert set(alignment.added) == set(range(len(after))) - set(new)
    for edit in alignment.edits:
        assert 0 <= edit.old_index < len(before)
        assert (edit.new_index is None) is (edit.kind is EditKind.DROPPED) is (edit.new is None)
        if edit.kind is EditKind.CHANGED:
            assert edit.old != edit.new
    assert not (alignment.is_append and alignment.edits)


@given(st.integers(1, 4), st.lists(st.sampled_from(TEXTS), min_size=1, max_size=3, unique=True))
def test_a_rewind_is_no_edit(kept: int, other: list[str]) -> None:
    before = chat(*TEXTS[:5], system=SYSTEM)
    after = before[:kept] + [message("user", f"Or rather: {n} {text[::-1]}") for n, text in enumerate(other)]
    alignment = aligned(before, after)
    assert alignment.edits == ()
    assert not alignment.is_append


def test_a_branch_that_asks_the_last_question_in_other_words_is_no_edit() -> None:
    before = chat(*TEXTS[:3], system=SYSTEM)
    after = [*before[:-1], message("user", f"{before[-1]['content']} Please hurry.")]
    assert aligned(before, after).edits == ()


@pytest.mark.parametrize("dropped", [1, 2, 3])
def test_a_dropped_message(dropped: int) -> None:
    before = chat(*TEXTS[:5], system=SYSTEM)
    after = [
        *before[:dropped],
        *before[dropped + 1 :],
        message("assistant", "Noted."),
        message("user", "Go on."),
    ]
    assert kinds(aligned(before, after)) == [(EditKind.DROPPED, dropped, None)]


def test_a_window_that_slides_drops_the_oldest() -> None:
    before = chat(*TEXTS[:5], system=SYSTEM)
    after = [before[0], *before[3:], message("assistant", "Noted."), message("user", "Go on.")]
    assert kinds(aligned(before, after)) == [(EditKind.DROPPED, 1, None), (EditKind.DROPPED, 2, None)]


def test_a_message_put_in_between_moves_what_stood_there() -> None:
    before = chat(*TEXTS[:3], system=SYSTEM)
    after = [*before[:3], message("user", "Put in between."), *before[3:], *chat("Noted.", "Go on.")]
    assert kinds(aligned(before, after)) == [(EditKind.MOVED, 3, 4)]


@pytest.mark.parametrize("changed", [1, 2])
@pytest.mark.parametrize("text", ["", TEXTS[5], "{old} (edited)", "cut"])
def test_a_changed_message_in_its_place(changed: int, text: str) -> None:
    before = chat(*TEXTS[:3], system=SYSTEM)
    edited = {**before[changed], "content": text.format(old=before[changed]["content"])}
    after = [*before[:changed], edited, *before[changed + 1 :], *chat("Noted.", "Go on.")]
    assert kinds(aligned(before, after)) == [(EditKind.CHANGED, changed, changed)]


def test_a_tool_result_is_known_by_its_call() -> None:
    call = message("assistant", None, tool_calls=[{"id": "c1", "function": {"name": "f", "arguments": "{}"}}])
    result = message("tool", "twelve lines of output about the fog", tool_call_id="c1")
    stub = message("tool", "[old output removed]", tool_call_id="c1")
    before = [*chat("Look.", system=SYSTEM), call, result]
    after = [*chat("Look.", system=SYSTEM), call, stub, *chat("And?", "Well.")]
    assert kinds(aligned(before, after)) == [(EditKind.CHANGED, 3, 3)]


def test_system_texts_are_compared_over_the_call_site() -> None:
    before, after = (chat(*TEXTS[:3], system=f"{SYSTEM} It is {time}.") for time in ("08:12", "08:40"))
    assert aligned(before, [*after, *chat("Noted.", "Go on.")]).edits == ()


def test_an_unrelated_conversation_shares_nothing() -> None:
    alignment = aligned(chat(*TEXTS[:2]), chat("What", "ever"))
    assert alignment.edits == ()
    assert not alignment.is_append
