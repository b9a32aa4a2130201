"""What the library makes of a folder: by content, bounded, never outside, never stopped by a bad file."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepwarm._errors import InputError
from keepwarm.api.library import walk
from keepwarm.api.library.kinds import KINDS
from keepwarm.api.library.library import Library, result_id
from keepwarm.api.library.recognise import recognise
from keepwarm.api.problems import NoSuchResult

TASK = {"schema": "keepwarm.task/1", "id": "task-1", "finding": {"cause": "clock", "call_site": "site-1"}}


def library(root: Path) -> Library:
    return Library(root, revealed=False)


def write(path: Path, document: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))
    return path


def test_every_kind_of_the_example_is_found(results: Path) -> None:
    found = library(results).all()
    assert {each.item.kind for each in found} == {head.kind for head in KINDS.values()} - {"tuning"}
    assert [each.item.problem for each in found] == [None] * len(found)
    assert all(each.head is not None for each in found)
    assert all(each.item.title for each in found)
    times = [each.item.modified_s for each in found]
    assert times == sorted(times, reverse=True)


def test_a_result_is_told_by_its_content(tmp_path: Path) -> None:
    write(tmp_path / "anything.txt", TASK)
    write(tmp_path / "task.json", {"schema": "something.else/1"})
    (tmp_path / "diagnosis.json").write_text("no JSON")
    (item,) = library(tmp_path).items()
    assert (item.kind, item.path, item.title) == ("task", "anything.txt", "task-1: clock at site-1")


def test_the_schema_need_not_be_the_first_key(tmp_path: Path) -> None:
    rest = {key: value for key, value in TASK.items() if key != "schema"}
    write(tmp_path / "task.json", {"note": 'a "brace" } {', "deep": [{"schema": "no"}], **rest, **TASK})
    (item,) = library(tmp_path).items()
    assert item.problem is None


def test_ids_follow_the_path(tmp_path: Path) -> None:
    write(tmp_path / "a" / "task.json", TASK)
    here = library(tmp_path)
    (item,) = here.items()
    assert item.id == result_id("a/task.json") == library(tmp_path).items()[0].id
    assert here.find(item.id, "task").path == tmp_path / "a" / "task.json"
    with pytest.raises(NoSuchResult, match="no verdict"):
        here.find(item.id, "verdict")
    with pytest.raises(NoSuchResult, match="no task 'ffffffffffff'"):
        here.find("f" * 12, "task")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (json.dumps(TASK)[:-5], "cannot be read|can be read"),
        (json.dumps(TASK | {"id": 7}), r"Expected `str`, got `int`"),
        (json.dumps({"schema": "keepwarm.task/1"}), "missing required field `finding`|`id`"),
        (json.dumps(TASK | {"schema": "keepwarm.task/2"}), "update keepwarm"),
        ('{"schema": "keepwarm.task/1", "id": ' + "[" * 100_000, "nested|truncated|read"),
    ],
)
def test_a_broken_file_is_listed_with_its_problem(tmp_path: Path, content: str, problem: str) -> None:
    (tmp_path / "broken.json").write_text(content)
    write(tmp_path / "fine.json", TASK)
    here = library(tmp_path)
    broken = next(item for item in here.items() if item.path == "broken.json")
    assert len(here.items()) == 2
    assert broken.problem is not None
    assert "\n" not in broken.problem
    with pytest.raises(InputError, match=problem):
        here.find(broken.id, "task")


def test_a_lone_surrogate_is_no_problem(tmp_path: Path) -> None:
    finding = {"cause": "clock", "call_site": "site-1", "call_site_name": "a\ud800b"}
    write(tmp_path / "task.json", TASK | {"finding": finding})
    (item,) = library(tmp_path).items()
    assert item.problem is None
    assert item.title.encode() == b"task-1: clock at a\\ud800b"


def test_a_change_is_seen(tmp_path: Path) -> None:
    path = write(tmp_path / "task.json", TASK)
    here = library(tmp_path)
    (before,) = here.items()
    write(path, TASK | {"id": "task-22"})
    assert here.find(before.id, "task").item.title == "task-22: clock at site-1"
    path.unlink()
    assert here.items() == ()
    with pytest.raises(NoSuchResult):
        here.find(before.id, "task")


def test_links_are_not_followed(tmp_path: Path) -> None:
    outside = write(tmp_path / "outside" / "task.json", TASK)
    root = tmp_path / "root"
    inside = write(root / "own" / "task.json", TASK)
    (root / "file.json").symlink_to(outside)
    (root / "folder").symlink_to(outside.parent)
    (root / "round").symlink_to(root)
    here = library(root)
    (item,) = here.items()
    assert item.path == "own/task.json"
    inside.rename(root / "own" / "kept.json")
    inside.symlink_to(outside)  # since it was listed
    with pytest.raises(NoSuchResult):
        here.find(item.id, "task")


def test_a_folder_that_became_a_link_is_not_followed(tmp_path: Path) -> None:
    outside = write(tmp_path / "outside" / "task.json", TASK)
    root = tmp_path / "root"
    inside = write(root / "own" / "task.json", TASK)
    os.utime(inside, ns=(0, 0))
    os.utime(outside, ns=(0, 0))
    here = library(root)
    (item,) = here.items()
    (root / "own").rename(tmp_path / "away")
    (root / "own").symlink_to(outside.parent)
    with pytest.raises(NoSuchResult):
        here.find(item.id, "task")


def test_beside_is_a_plain_file_of_the_same_folder(tmp_path: Path) -> None:
    write(tmp_path / "task.json", TASK)
    (tmp_path / "there").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "there")
    here = library(tmp_path)
    found = here.find(here.items()[0].id, "task")
    assert found.beside("there") == tmp_path / "there"
    assert found.beside("link") is None
    assert found.beside("missing") is None


def test_hidden_and_installed_things_are_left_out(tmp_path: Path) -> None:
    for place in (".git", "node_modules", "a/.hidden"):
        write(tmp_path / place / "task.json", TASK)
    write(tmp_path / ".task.json", TASK)
    assert library(tmp_path).items() == ()


def test_no_more_files_than_are_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "MOST_FILES", 3)
    for number in range(5):
        write(tmp_path / f"{number}.json", TASK)
        write(tmp_path / "below" / f"{number}.json", TASK)
    assert [seen.relative for seen in walk.walk(tmp_path)] == ["0.json", "1.json", "2.json"]


def test_no_deeper_than_is_allowed(tmp_path: Path) -> None:
    write(tmp_path.joinpath(*["d"] * walk.MOST_DEPTH) / "task.json", TASK)
    write(tmp_path.joinpath(*["e"] * (walk.MOST_DEPTH + 1)) / "task.json", TASK)
    assert [item.path[0] for item in library(tmp_path).items()] == ["d"]


def test_a_name_that_is_no_text(tmp_path: Path) -> None:
    name = os.fsdecode(b"\xff\x1b[2J<script>\n.json")
    write(tmp_path / name, TASK)
    here = library(tmp_path)
    (item,) = here.items()
    assert item.path.encode("utf-8") == b"\\udcff\x1b[2J<script>\n.json"
    assert json.loads(here.find(item.id, "task").read()) == TASK


def test_a_large_document_is_told_by_its_ends(tmp_path: Path) -> None:
    path = tmp_path / "task.json"
    filling = '"x": "' + "y" * (17 << 20) + '"'
    path.write_text(json.dumps(TASK)[:-1] + ", " + filling + "}")
    (item,) = library(tmp_path).items()
    assert (item.title, item.problem) == ("task-1: clock at site-1", None)
    path.write_text(json.dumps(TASK)[:-1] + ", " + filling)
    (item,) = library(tmp_path).items()
    assert item.problem is not None
    assert "ends in the middle" in item.problem


@given(
    st.binary(max_size=200)
    | st.text(max_size=200).map(lambda text: ('{"schema":' + text).encode("utf-8", "replace"))
)
@settings(max_examples=200)
def test_no_content_stops_it(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_bytes(content)
    found = recognise(str(path), "any.json", len(content))
    assert found is None or found.problem is not None
