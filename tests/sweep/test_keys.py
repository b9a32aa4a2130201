from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from keepwarm.sweep import keys
from keepwarm.sweep.columns import FIGURES, SETTINGS
from tests.sweep.specs import CACHE, SERVING, groups_of, write_spec, write_trace


def keys_of(folder: Path, text: str) -> list[str]:
    return [cell.key for group in groups_of(folder, text) for cell in group.cells]


def test_keys_are_those_of_the_content_wherever_it_lies(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    write_spec(here)
    shutil.copytree(here, there)
    (there / "trace.jsonl").rename(there / "other.jsonl")
    text = (CACHE + SERVING).replace("trace.jsonl", "other.jsonl")
    assert keys_of(here, CACHE + SERVING) == keys_of(there, text)


def test_a_cell_asked_for_twice_is_one_cell(tmp_path: Path) -> None:
    again = CACHE.replace("[40, 60, 80, 120]", "[120, 160]")
    found = keys_of(tmp_path, CACHE + again)
    assert len(found) == len(set(found)) == 12 + 3


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[[cache]]", "[[cache]]\nignore_output = true"),
        ("[[cache]]", "[[cache]]\nmatch_unit_tokens = 1024"),
        ("seeds = [0, 1]", "seeds = [2, 3]"),
        ("seeds", "gap_scale = 0.5\nseeds"),
        ("seeds", "step_tokens = 777\nseeds"),
        ("seeds", 'population = "constant"\nseeds'),
        ("seeds", 'profiles = ["cpu-smollm2"]\nseeds'),
        ("[40960]", "[40961]"),
    ],
)
def test_whatever_decides_a_figure_is_in_the_key(tmp_path: Path, old: str, new: str) -> None:
    table = CACHE if old in CACHE else SERVING
    before, after = keys_of(tmp_path, table), keys_of(tmp_path, table.replace(old, new, 1))
    assert not set(before) & set(after)


def test_another_trace_or_another_model_has_other_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = keys_of(tmp_path, CACHE)
    monkeypatch.setattr(keys, "model_version", lambda: "another")
    assert not set(before) & set(keys_of(tmp_path, CACHE))
    monkeypatch.undo()
    write_trace(tmp_path / "trace.jsonl", seed=1)
    assert not set(before) & set(keys_of(tmp_path, CACHE))


def test_every_setting_is_a_column(tmp_path: Path) -> None:
    used = {name for group in groups_of(tmp_path) for cell in group.cells for name in cell.settings}
    assert used == set(SETTINGS)
    assert not set(SETTINGS) & set(FIGURES)
