from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwarm.reuse.calls import ToolCall
from keepwarm.reuse.terms import MAX_CHARACTERS, MAX_WORDS, terms_of, tool_of


def test_words_and_neighbours() -> None:
    assert terms_of("cd app && pip install") == [
        *("cd", "^ cd", "app", "cd app", "&&", "app &&"),
        *("pip", "^ pip", "install", "pip install"),
    ]


@pytest.mark.parametrize(
    "wrapped",
    [
        '{"command": "pytest -x"}',
        '{"cmd":"pytest -x"}',
        '["bash", "-lc", "pytest -x"]',
        '{"command": ["/bin/sh", "-c", "pytest -x"]}',
        "  pytest -x",
        "Pytest\\n-X",
    ],
)
def test_what_agents_wrap_a_command_in_is_no_word(wrapped: str) -> None:
    assert terms_of(wrapped) == terms_of("pytest -x")


def test_long_numbers_are_all_the_same() -> None:
    assert terms_of("kill 48151") == terms_of("kill 99182340")
    assert terms_of("sleep 30") != terms_of("sleep 5")


@given(st.text())
def test_the_look_is_bounded(text: str) -> None:
    terms = terms_of(text * 50)
    assert len(terms) <= 2 * MAX_WORDS
    assert terms == terms_of((text * 50)[:MAX_CHARACTERS])


@pytest.mark.parametrize("name", ["Bash", "bash", "shell", "execute_bash", "local_shell"])
def test_a_shell_is_a_shell(name: str) -> None:
    assert tool_of(ToolCall(name, "")) == "bash"


def test_other_tools_keep_their_name() -> None:
    assert tool_of(ToolCall("Read", "")) == "Read"
