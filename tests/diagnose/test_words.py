from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwarm.diagnose.words import Gap, diff, share_of_words, split_lines, split_words, squeeze

WORDS = st.sampled_from(
    ["the", "tide", "turns", "at", "08:12", "a-1", "ä", "«", "\n", "\n\n", "  ", "\t", ",", "."]
)
TEXTS = st.lists(WORDS, max_size=25).map(" ".join) | st.text(max_size=40)


def patched(a: str, b: str, gaps: list[Gap]) -> str:
    """``a`` with every gap replaced by what stands there in ``b``."""
    for gap in reversed(gaps):
        a = a[: gap.a_start] + b[gap.b_start : gap.b_end] + a[gap.a_end :]
    return a


@given(TEXTS, TEXTS)
def test_gaps_turn_one_text_into_the_other(a: str, b: str) -> None:
    assert patched(a, b, diff(a, b)) == b


@given(TEXTS, TEXTS)
def test_gaps_are_ordered_disjoint_and_not_empty(a: str, b: str) -> None:
    gaps = diff(a, b)
    assert bool(gaps) is (a != b)
    for gap in gaps:
        assert 0 <= gap.a_start <= gap.a_end <= len(a)
        assert 0 <= gap.b_start <= gap.b_end <= len(b)
        assert gap.a_end > gap.a_start or gap.b_end > gap.b_start
    for left, right in itertools.pairwise(gaps):
        assert left.a_end <= right.a_start
        assert left.b_end <= right.b_start
        assert a[left.a_end : right.a_start] == b[left.b_end : right.b_start] != ""


@given(TEXTS)
def test_pieces_joined_are_the_text(text: str) -> None:
    assert "".join(split_words(text)) == text
    assert "".join(split_lines(text)) == text
    assert not any(char.isspace() for char in squeeze(text))


@given(TEXTS, TEXTS)
def test_the_share_of_words_is_a_share_and_looks_both_ways(a: str, b: str) -> None:
    assert 0 <= share_of_words(a, b) <= 1
    assert share_of_words(a, b) == share_of_words(b, a)
    if a.strip():
        assert share_of_words(a, a) == 1


@pytest.mark.parametrize(
    "word", ["08:12:31", "2031-03-04", "a.b@example.org", "1,250.50", "it's", "x/y/z", "tick-7f3a"]
)
def test_a_joined_word_is_one_word(word: str) -> None:
    assert split_words(f"at {word} now") == ["at", " ", word, " ", "now"]


def test_a_changed_word_is_a_gap_of_its_own() -> None:
    a, b = "Moored at 08:12 by Ann.\nKeep clear.\n", "Moored at 09:40 by Bo.\nKeep clear.\n"
    assert [(a[g.a_start : g.a_end], b[g.b_start : g.b_end]) for g in diff(a, b)] == [
        ("08:12", "09:40"),
        ("Ann", "Bo"),
    ]


def test_unlike_passages_are_one_gap_and_not_confetti() -> None:
    a = "Rules.\nThe crane lifts two tonnes and the slip is steep.\nEnd."
    b = "Rules.\nBring the key of the shed and a lamp to the pier at dusk.\nEnd."
    (gap,) = diff(a, b)
    assert a[gap.a_start : gap.a_end].startswith("The crane")
    assert b[gap.b_start : gap.b_end].endswith("dusk")


def test_an_inserted_line_is_a_gap_without_a_left_side() -> None:
    a, b = "one line\ntwo lines\n", "one line\nand between\ntwo lines\n"
    assert diff(a, b) == [Gap(9, 9, 9, 21)]


def test_texts_beyond_the_limit_are_cut_to_what_differs() -> None:
    same = "word " * 25_000
    a, b = f"{same}left {same}", f"{same}right {same}"
    assert diff(a, b) == [Gap(125_000, 125_004, 125_000, 125_005)]
