"""What is proved of a splitting regex holds when the library splits by it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Regex, pre_tokenizers

from keepwarm.trace.tokens.boundaries import always_splits, never_joins
from keepwarm.trace.tokens.word_trie import one_of

SPLITS = {
    "gpt-2": r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "cl100k": (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*"
        r"|\s*[\r\n]|\s+(?!\S)|\s+"
    ),
    "o200k": (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t)?"
        r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t)?"
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
    "words": r"\w+|[^\w\s]+",
    "ranges": r"[A-Za-z]+|[^A-Za-z]",
    "one by one": r"[a-zA-Z]|\s",
    "bounded": r"\p{L}{1,4}|\s+",
}
DOES_NOT = {
    "blank after a word": r"\p{L}+ ?|\s",
    "blank within": r"[\p{L} ]+",
    "two words": r"\p{L}+(?: \p{L}+)?|\s",
    "letters unmatched": r"\d+|\s+",
    "capitals unmatched": r"[a-z]+|\s+",
    "letters in pairs": r"\p{L}{2}|\s+",
    "only before a digit": r"\p{L}+(?=\d)|\s+",
    "a possessive class that eats the letter": r"\p{L}?+\p{L}|\s+",
    "an atomic group that eats the letter": r"(?>\p{L}*)\p{L}|\s+",
    "not a class": r"[^x]+",
    "repeated group": r"(?:\p{L}|\s)+",
}
NOT_UNDERSTOOD = [
    r"(?<=a) |\p{L}",
    r"^\p{L}+|\s",
    r"\p{L}+$",
    r"\b\p{L}+",
    r".+",
    r"\p{L}+(?= \d)",
    r"[[:alpha:]]+",
]
NOT_UNDERSTOOD += [
    r"[a&&b]",
    r"\p{Script=Latin}+",
    r"(?P<x>a)",
    r"a{x}",
    r"(",
    r"[a",
    r"\p{L}+)",
    r"\x41",
    r"a*",
]


@pytest.mark.parametrize("name", SPLITS)
def test_splits_before_a_blank_and_a_line_feed(name: str) -> None:
    assert always_splits(SPLITS[name], " ")
    assert always_splits(SPLITS[name], "\n")


@pytest.mark.parametrize("name", DOES_NOT)
def test_claims_nothing_that_is_not_so(name: str) -> None:
    assert not always_splits(DOES_NOT[name], " ")


@pytest.mark.parametrize("regex", NOT_UNDERSTOOD)
def test_claims_nothing_of_what_it_does_not_understand(regex: str) -> None:
    assert not always_splits(regex, " ")
    assert not never_joins(regex, " ")


@settings(max_examples=200)
@given(
    regex=st.sampled_from([*SPLITS.values(), *DOES_NOT.values()]),
    text=st.text(alphabet="abXyé \n\r\t1.,'-/", max_size=40),
)
def test_the_library_splits_where_it_was_proved(regex: str, text: str) -> None:
    for behaviour, invert in (("isolated", False), ("removed", True)):
        splitter = pre_tokenizers.Split(Regex(regex), behaviour, invert)
        spans = [span for _, span in splitter.pre_tokenize_str(text)]
        for right in (" ", "\n"):
            if always_splits(regex, right):
                for found in re.finditer(f"[A-Za-z](?={right})", text):
                    assert not any(start < found.end() < end for start, end in spans)


ATOMS = [
    r"\p{L}",
    r"[a-z]",
    "a",
    " ",
    r"\s",
    r"[^\s]",
    r"[^a]",
    r"\p{N}",
    "[ab ]",
    r"(?:a|\s)",
    r"(?i:a b)",
    "x",
    r"\S",
]


@settings(max_examples=300)
@given(
    alternatives=st.lists(
        st.lists(
            st.tuples(st.sampled_from(ATOMS), st.sampled_from(["", "?", "*", "+", "++", "?+", "{1,2}"])),
            min_size=1,
            max_size=3,
        ),
        min_size=1,
        max_size=3,
    ),
    text=st.text(alphabet="abcA 1\n", max_size=30),
)
def test_made_up_regexes(alternatives: list[list[tuple[str, str]]], text: str) -> None:
    regex = "|".join("".join(atom + sign for atom, sign in sequence) for sequence in alternatives)
    if not always_splits(regex, " "):
        return
    spans = [span for _, span in pre_tokenizers.Split(Regex(regex), "isolated").pre_tokenize_str(text)]
    for found in re.finditer(r"[A-Za-z](?= )", text):
        assert not any(start < found.end() < end for start, end in spans)


@given(st.sets(st.text("ab<|>", min_size=1, max_size=5), max_size=12), st.text("ab<|>", max_size=30))
def test_a_trie_finds_what_a_list_of_words_finds(words: set[str], text: str) -> None:
    by_length = sorted(words, key=len, reverse=True)
    pattern = one_of(dict.fromkeys(words, ""))
    if not words:
        assert pattern == ""
        return
    expected = [found.span() for found in re.finditer("|".join(map(re.escape, by_length)), text)]
    assert [found.span() for found in re.finditer(pattern, text)] == expected
