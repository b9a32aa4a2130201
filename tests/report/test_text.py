from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwarm._text import clip, columns, counted, percent, share, shorten, visible

ANY_TEXT = st.text(st.characters(), max_size=80)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("a\x1b[31mred\x1b[0m", "ared"),
        ("a\x1b]0;title\x07b", "ab"),
        ("a\x1b]8;;x\x1b\\b", "ab"),
        ("a\x9b2Jb", "ab"),
        ("a\x1bcb", "ab"),
        ("a\x1b", "a␛"),
        ("one\ntwo\tthree\r", "one⏎two⇥three␍"),
        ("\u202egnp", "⟨U+202E⟩gnp"),
        ("zero\u200bwidth", "zero⟨U+200B⟩width"),
        ("lone\ud800", "lone⟨U+D800⟩"),
        ("\x00\x7f", "␀␡"),
        ("  ", "␣␣"),
        (" a ", " a "),
        ("grüße 你好 👩‍👩‍👧", "grüße 你好 👩‍👩‍👧"),
    ],
)
def test_visible(raw: str, expected: str) -> None:
    assert visible(raw) == expected


@given(ANY_TEXT)
def test_nothing_unfit_for_a_terminal_survives(text: str) -> None:
    shown = visible(text)
    shown.encode("utf-8")
    assert not [c for c in shown if unicodedata.category(c) in {"Cc", "Cs", "Zl", "Zp"}]
    assert not [
        c
        for c in shown
        if unicodedata.bidirectional(c) in {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    ]


@given(ANY_TEXT, st.integers(3, 60))
def test_shorten_fits(text: str, width: int) -> None:
    text = visible(text)
    short = shorten(text, width)
    assert columns(short) <= width
    assert short == text or "…" in short


def test_both_ends_of_a_path_stay() -> None:
    assert shorten("messages[0].content[3].text.something.deep", 20).endswith("deep")
    assert shorten("You are the assistant of a shop…", 20) == "You are the assista…"
    assert clip("abcdef", 4) == "abc…"
    assert clip("abcdef", 4, keep_end=True) == "…def"


@pytest.mark.parametrize(
    ("rate", "expected"),
    [(0.0, "0.0%"), (0.0001, "<0.1%"), (0.134, "13.4%"), (0.9999, ">99.9%"), (1.0, "100.0%")],
)
def test_percent_never_rounds_to_an_absolute(rate: float, expected: str) -> None:
    assert percent(rate) == expected


def test_counts() -> None:
    assert counted(1, "request") == "1 request"
    assert counted(1200, "request") == "1,200 requests"
    assert share(1, 0) == "0.0%"
