from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from keepwarm._errors import InputError
from keepwarm.sweep.plan import planned
from keepwarm.sweep.spec import read_spec
from tests.sweep.specs import CACHE, SERVING, groups_of, write_spec, write_trace


def test_the_grid_is_the_product_of_its_lists(tmp_path: Path) -> None:
    cache, serving = groups_of(tmp_path)
    assert (len(cache.cells), len(serving.cells)) == (3 * 4, 2 * 2 * 2)
    assert {(cell.settings["policy"], cell.settings["capacity_blocks"]) for cell in cache.cells} == {
        (policy, capacity) for policy in ("lru", "belady", "sieve") for capacity in (40, 60, 80, 120)
    }
    assert {cell.settings["capacity_tokens"] for cell in serving.cells} == {40960}


def test_paths_are_relative_to_the_spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    write_spec(folder)
    monkeypatch.chdir(tmp_path)
    (group, _) = planned(read_spec(Path("a/spec.toml")))
    assert Path(group.source.path).samefile(folder / "trace.jsonl")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "policies",
            "policy",
            "[[cache]] 1: unknown key 'policy'; did you mean policies? known are: traces,",
        ),
        ("[[cache]]", "[[caches]]", "unknown key 'caches'; did you mean cache?"),
        ("[[cache]]", "[cache]", "cache is no list of tables; write [[cache]]"),
        ("[[cache]]", "cache = 3\n[[serving]]", "cache is no list of tables"),
        ("[40, 60, 80, 120]", "[]", "[[cache]] 1: capacity_blocks: Expected array of length >= 1"),
        ("[40, 60, 80, 120]", "40", "[[cache]] 1: capacity_blocks: Expected array, got int"),
        ("[40, 60, 80, 120]", "[40, 60.5]", "[[cache]] 1: capacity_blocks[1]: Expected int, got float"),
        ("[40, 60, 80, 120]", "[0]", "[[cache]] 1: capacity_blocks[0]: Expected int >= 1"),
        ("[40, 60, 80, 120]", "[40, 60, 40]", "[[cache]] 1: capacity_blocks names 40 twice"),
        ('"sieve"', "true", "[[cache]] 1: policies[2]: Expected str, got bool"),
        ('"sieve"', '"seive"', "[[cache]] 1: unknown policy 'seive'; did you mean sieve?"),
        ('"sieve"', '"cachewise"', "[[cache]] 1: policy 'cachewise' needs sessions"),
        ('traces = ["trace.jsonl"]\n', "", "[[cache]] 1: Object missing required field traces"),
        ('"trace.jsonl"', '"gone.jsonl"', "gone.jsonl'; paths are relative to the spec, correct it there"),
        ('"trace.jsonl"', '"spec.toml"', "[[cache]] 1: "),
        ("[[cache]]", "[[cache]]\nchat_template = 'gone.jinja'", "no chat template at "),
        ("[[cache]]", "[[cache]]\nformat = 'nope'", "[[cache]] 1: "),
        ('"fcfs"', '"lifo"', "[[serving]] 1: no queue order 'lifo'; there are "),
        ("seeds = [0, 1]", "seeds = [-1]", "[[serving]] 1: seeds[0]: Expected int >= 0"),
        ("seeds = [0, 1]", f"seeds = [{10**20}]", "[[serving]] 1: seeds[0]: Expected int <= "),
        ('"trace.jsonl"', '"."', "is a folder; name a file in it"),
        (
            "seeds",
            'eviction = ["cachewise"]\nseeds',
            "[[serving]] 1: eviction 'cachewise' predicts by a model",
        ),
        ("seeds", 'eviction = ["nope"]\nseeds', "[[serving]] 1: no eviction 'nope'"),
        (
            "seeds",
            'profiles = ["nope"]\nseeds',
            "[[serving]] 1: no profile 'nope': give a file beside the spec",
        ),
        ("seeds", 'profiles = ["trace.jsonl"]\nseeds', "[[serving]] 1: profile "),
        (
            "seeds",
            'population = "few"\nseeds',
            "[[serving]] 1: no population 'few'; there are together, constant",
        ),
        ("seeds", "gap_scale = -1\nseeds", "[[serving]] 1: gap_scale is -1.0; give 0 or more"),
        ("seeds", "gap_scale = nan\nseeds", "[[serving]] 1: gap_scale is nan"),
        ("seeds", "reuse_model = 'gone.json'\nseeds", "no reuse model at "),
        ("seeds", "reuse_model = 'trace.jsonl'\nseeds", "[[serving]] 1: "),
        ("[[cache]]", "[[cache", "is not TOML: "),
    ],
)
def test_what_is_wrong_is_said_in_one_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = write_spec(tmp_path, (CACHE + SERVING).replace(old, new, 1))
    with pytest.raises(InputError) as error:
        planned(read_spec(path))
    assert said in str(error.value)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_an_empty_or_missing_spec_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"add a \[\[cache\]\]"):
        read_spec(write_spec(tmp_path, "# nothing\n"))
    with pytest.raises(InputError, match=r"no spec at .*No such file"):
        read_spec(tmp_path / "gone.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="is not TOML"):
        read_spec(tmp_path / "binary.toml")


def test_a_server_cannot_tokenise_for_a_sweep(tmp_path: Path, repository: Path) -> None:
    traffic = repository / "examples" / "helpdesk" / "traffic.jsonl.gz"
    text = CACHE.replace("trace.jsonl", str(traffic)) + 'tokenizer = "http://127.0.0.1:1"\n'
    with pytest.raises(InputError, match="is a server, whose tokens may change"):
        groups_of(tmp_path, text)


def test_the_example_of_the_documentation_is_a_spec(tmp_path: Path, repository: Path) -> None:
    page = (repository / "docs" / "how-to" / "sweep.md").read_text()
    (tmp_path / "grid.toml").write_text(page.partition("```toml\n")[2].partition("```")[0])
    for name in ("monday.jsonl.zst", "tuesday.jsonl.zst"):
        write_trace(tmp_path / name)
    profile = repository / "src" / "keepwarm" / "serving" / "profiles" / "cpu-smollm2.json"
    shutil.copy(profile, tmp_path / "our-server.json")
    shutil.copy(repository / "examples" / "helpdesk" / "reuse-model.json", tmp_path / "reuse.json")
    groups = planned(read_spec(tmp_path / "grid.toml"))
    # The two days are the same bytes here, so their cells are the same.
    assert sum(len(group.cells) for group in groups) == 9 + 2 * 2 * 3 * 3 * 2
