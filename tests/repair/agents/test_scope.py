"""What a task allows is the same here and in the guard, which looks at the result again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwarm.guard.scope import is_allowed
from keepwarm.repair.agents.scope import Change, out_of_scope

FILE, PROGRAM, LINK, SUBMODULE, NOTHING = "100644", "100755", "120000", "160000", "000000"
NAMES = st.sampled_from(["a", "b", "ab", "prompts.py", "**", "*", "?", "*.py", "[ab]"])
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)


@given(PATHS, st.lists(PATHS, max_size=3))
def test_it_agrees_with_the_guard(path: str, allowed: list[str]) -> None:
    assert (out_of_scope([Change(path, FILE, FILE)], allowed) == ()) == is_allowed(path, allowed)


@pytest.mark.parametrize(
    ("old_mode", "mode", "is_fine"),
    [
        (FILE, FILE, True),
        (NOTHING, FILE, True),
        (FILE, NOTHING, True),
        (PROGRAM, PROGRAM, True),
        (PROGRAM, NOTHING, True),
        (FILE, PROGRAM, False),
        (PROGRAM, FILE, False),
        (NOTHING, PROGRAM, False),
        (FILE, LINK, False),
        (LINK, LINK, False),
        (LINK, NOTHING, False),
        (NOTHING, SUBMODULE, False),
        (SUBMODULE, SUBMODULE, False),
    ],
)
def test_modes(old_mode: str, mode: str, is_fine: bool) -> None:
    assert (out_of_scope([Change("a", old_mode, mode)], ["a"]) == ()) == is_fine
