from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwarm.repair.allowed import is_allowed

NAMES = st.sampled_from(["a", "b", "ab", "prompts.py"])
WORDS = st.sampled_from(["a", "b", "ab", "prompts.py", "**", "*", "?", "*.py", "[ab]"])
PATHS = st.lists(NAMES, min_size=1, max_size=5).map("/".join)
PATTERNS = st.lists(WORDS, min_size=1, max_size=5)


def as_regex(pattern: list[str]) -> str:
    """The same as one regular expression, each folder with its slash."""
    meaning = {"**": "([^/]+/)*", "*": "[^/]*/", "?": "[^/]/", "*.py": "[^/]*[.]py/", "[ab]": "[ab]/"}
    return "".join(meaning.get(word, re.escape(word) + "/") for word in pattern)


@pytest.mark.parametrize(
    ("path", "pattern", "matches"),
    [
        ("a/b.py", "a/b.py", True),
        ("a/b.py", "a/*.py", True),
        ("a/c/b.py", "a/*.py", False),
        ("a/c/b.py", "a/**/*.py", True),
        ("a/b.py", "a/**/b.py", True),
        ("a/b.py", "**", True),
        ("a/b.py", "b.py", False),
        ("a/b[1].py", "a/b[1].py", True),
        ("A/b.py", "a/b.py", False),
        ("a/../b.py", "a/**", False),
    ],
)
def test_patterns_are_those_of_pathlib(path: str, pattern: str, matches: bool) -> None:
    assert is_allowed(path, (pattern,)) is matches


@given(PATHS, PATTERNS)
def test_a_pattern_is_a_regular_expression(path: str, pattern: list[str]) -> None:
    expected = re.fullmatch(as_regex(pattern), f"{path}/") is not None
    assert is_allowed(path, ["/".join(pattern)]) is expected


def test_patterns_in_a_row_take_no_exponential_time() -> None:
    assert not is_allowed("/".join("a" * 60), ["/".join(["**"] * 30 + ["z"])])
