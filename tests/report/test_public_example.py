"""The example in ``help(keepwarm)`` is one that runs, and the tree of errors in it is the one there is."""

from __future__ import annotations

import doctest
import re
import shutil
from pathlib import Path

import pytest

import keepwarm

TRAFFIC = Path(__file__).parents[2] / "examples/helpdesk/traffic.jsonl.gz"


def test_the_example_runs_as_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(TRAFFIC, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    result = doctest.testmod(keepwarm)
    assert result.attempted >= 7
    assert result.failed == 0


def test_the_tree_of_errors_is_the_one_there_is() -> None:
    drawn = re.findall(r"^ +(?:│ +)?(?:[├└]── )?(\w+)  +", keepwarm.__doc__ or "", re.MULTILINE)
    errors = [name for name in keepwarm.__all__ if isinstance(getattr(keepwarm, name), type)]
    ours = {name for name in errors if issubclass(getattr(keepwarm, name), keepwarm.KeepwarmError)}
    assert ours - {"KeepwarmError"} == set(drawn)


def test_every_public_name_says_what_it_is() -> None:
    for name in keepwarm.__all__:
        if not name.startswith("__"):
            assert (getattr(keepwarm, name).__doc__ or "").strip(), name
            assert name in (keepwarm.__doc__ or ""), name
