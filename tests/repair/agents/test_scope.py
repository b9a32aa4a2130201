from __future__ import annotations

import pytest

from keepwarm.repair.agents.scope import Change, out_of_scope

FILE, PROGRAM, LINK, SUBMODULE, NOTHING = "100644", "100755", "120000", "160000", "000000"


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


def test_a_path_that_leaves_the_repository_is_out_of_scope() -> None:
    assert out_of_scope([Change("a/../../b", FILE, FILE)], ["**"]) == ("a/../../b",)
