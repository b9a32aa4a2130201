from __future__ import annotations

import fcntl
import json
import os
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keepwarm import __version__
from keepwarm._errors import InputError
from keepwarm.vllm.fingerprints import BLOCK_POOL, KV_CACHE_UTILS, find
from keepwarm.vllm.source import anchors, install, installer, manifest, status, uninstall
from keepwarm.vllm.source.policy_module import MODULE_PATH, policy_module, safety_suite
from tests.vllm_source.trees import FILES, METRICS, NAMES, commit, picture, write_tree

SUITE_BESIDE = "vllm/v1/core/computecache_safety.py"
SUITE_IN_TESTS = "tests/v1/core/test_computecache_safety.py"


def refused(tree: Path, message: str) -> None:
    """Neither ``install`` nor ``--check`` goes through, and nothing is touched."""
    before = picture(tree)
    for check in (True, False):
        with pytest.raises(InputError, match=message):
            install(str(tree), check=check)
        assert picture(tree) == before


def test_what_an_installation_changes(tree: Path) -> None:
    before = picture(tree)
    done = install(str(tree))
    assert done == installer.Installation(
        "0.32.0", (METRICS, BLOCK_POOL), (MODULE_PATH, SUITE_BESIDE), changed=True
    )
    after = picture(tree)
    assert {path for path in after if after[path] != before.get(path)} == {
        *done.edited,
        *done.added,
        manifest.PATH,
    }
    assert after[MODULE_PATH].content.decode() == policy_module()
    assert after[SUITE_BESIDE].content.decode() == safety_suite()
    # Lines are added, none is changed or removed.
    for path in done.edited:
        old, new = (side[path].content.decode().splitlines() for side in (before, after))
        added = [edit.added for edit in anchors.EDITS if edit.path == path]
        assert [line for line in new if line not in added] == old
        assert sorted(line for line in new if line in added) == sorted(added)


def test_the_class_of_the_pools_is_decorated(tree: Path) -> None:
    install(str(tree))
    assert "\n@computecache.hook_if_asked\nclass BlockPool:\n" in (tree / BLOCK_POOL).read_text()


def test_installing_twice_changes_nothing(tree: Path) -> None:
    install(str(tree))
    once = picture(tree)
    assert install(str(tree)).changed is False
    assert picture(tree) == once


def test_a_check_writes_nothing(tree: Path) -> None:
    before = picture(tree)
    checked = install(str(tree), check=True)
    assert picture(tree) == before
    assert checked == install(str(tree))


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_undone_byte_for_byte(tmp_path: Path, newline: str) -> None:
    tree = write_tree(tmp_path, newline=newline)
    (tree / BLOCK_POOL).chmod(0o640)
    (tree / METRICS).chmod(0o755)
    before = picture(tree)
    install(str(tree))
    patched = picture(tree)
    assert patched[BLOCK_POOL].mode == before[BLOCK_POOL].mode
    assert patched[METRICS].mode == before[METRICS].mode
    text = patched[BLOCK_POOL].content.decode()
    assert text.count(newline) == text.count("\n") == FILES[BLOCK_POOL].count("\n") + 2
    assert set(uninstall(str(tree))) == {BLOCK_POOL, METRICS, MODULE_PATH, SUITE_BESIDE}
    assert picture(tree) == before
    assert uninstall(str(tree)) == ()


def test_the_suite_goes_among_the_tests_of_a_checkout(tree: Path) -> None:
    (tree / "tests/v1/core").mkdir(parents=True)
    assert install(str(tree)).added == (MODULE_PATH, SUITE_IN_TESTS)
    uninstall(str(tree))
    assert not (tree / SUITE_IN_TESTS).exists()


def test_the_tree_may_be_reached_by_a_link(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tree)
    install(str(tmp_path / "link"))
    assert status(str(tree)).state == "installed"


@pytest.mark.parametrize("edit", anchors.EDITS, ids=lambda edit: edit.name)
def test_a_line_to_edit_that_drifted_is_named(tree: Path, edit: anchors.Edit) -> None:
    place = tree / edit.path
    text = place.read_text()
    line = text[: text.index(edit.anchor)].count("\n") + 1
    place.write_text(text.replace(edit.anchor, f"{edit.anchor}  # ours"))
    refused(tree, rf"anchor '{edit.name}' does not match at {edit.path}:{line}: .* 0 times, not once")
    place.write_text(text.replace(edit.anchor, f"{edit.anchor}\n{edit.anchor}"))
    refused(tree, rf"anchor '{edit.name}' does not match at {edit.path}:\d+: .* 2 times, not once")


@pytest.mark.parametrize(
    ("path", "old", "new", "message"),
    [
        (
            BLOCK_POOL,
            "+= 1",
            "+= 2",
            "'BlockPool.touch' does not match at .*block_pool.py:12: it is not that of",
        ),
        (BLOCK_POOL, "# more", "# less", "'BlockPool.touch' does not match at .*block_pool.py:12:"),
        (
            BLOCK_POOL,
            "def touch",
            "def reach",
            "'BlockPool.touch' does not match at .*: it is not defined there",
        ),
        (
            KV_CACHE_UTILS,
            "ref_cnt = 0",
            "ref_cnt = 1",
            "'KVCacheBlock' does not match at .*kv_cache_utils.py:1:",
        ),
        (
            KV_CACHE_UTILS,
            "class ",
            "class KVCacheBlock: ...\nclass ",
            "'KVCacheBlock' .*: it is not defined there",
        ),
        (KV_CACHE_UTILS, "def reset", "def (", "'functions' .*kv_cache_utils.py:4: no valid Python"),
    ],
)
def test_a_function_that_drifted_is_named(tree: Path, path: str, old: str, new: str, message: str) -> None:
    place = tree / path
    place.write_text(place.read_text().replace(old, new, 1))
    refused(tree, message)


def test_other_mismatches_are_counted(tree: Path) -> None:
    (tree / BLOCK_POOL).write_text("pass\n")
    refused(tree, r"anchor 'import of the policy' .*block_pool\.py:1: .* \(and 3 more\); nothing was changed")


def test_trees_that_are_none(tmp_path: Path, tree: Path) -> None:
    for place, message in (
        (tmp_path / "nowhere", "is no folder"),
        (tmp_path, "holds no vllm/v1/core/block_pool.py"),
        (tree / "vllm", "is the package itself; give the folder above it"),
    ):
        for command in (install, uninstall, status):
            with pytest.raises(InputError, match=message):
                command(str(place))


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"\xff", "is not UTF-8"), (b"a = 1\r\nb = 2\n", "mixes line endings"), (b"a\r", "mixes line endings")],
)
def test_files_that_are_no_plain_text_are_refused(tree: Path, content: bytes, message: str) -> None:
    (tree / KV_CACHE_UTILS).write_bytes(content)
    refused(tree, f"kv_cache_utils.py {message}")


def test_a_missing_file_is_refused(tree: Path) -> None:
    (tree / METRICS).unlink()
    refused(tree, "vllm/v1/metrics/prometheus.py is missing")


@pytest.mark.parametrize("path", [BLOCK_POOL, "vllm/v1/core", MODULE_PATH])
def test_links_inside_the_tree_are_refused(tree: Path, tmp_path: Path, path: str) -> None:
    target = tmp_path / "elsewhere"
    if (tree / path).exists():
        (tree / path).rename(target)
    (tree / path).symlink_to(target)
    refused(tree, rf"{path} is a symbolic link to '.*elsewhere'; give the tree it is in")


def test_read_only_files_are_refused(tree: Path) -> None:
    (tree / BLOCK_POOL).chmod(0o444)
    refused(tree, r"block_pool\.py is read-only; make it writable: chmod u\+w")


def test_a_folder_without_the_right_to_write_is_refused(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everywhere
    refused(tree, "the folder of .* cannot be written by this user")


def test_somebody_elses_module_is_not_overwritten(tree: Path) -> None:
    (tree / MODULE_PATH).write_text("mine = True\n")
    refused(tree, "computecache.py is there already")
    assert status(str(tree)).state == "drifted"


def test_one_installer_at_a_time(tree: Path) -> None:
    descriptor = os.open(tree, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        refused(tree, "another keepwarm is at work")
    finally:
        os.close(descriptor)
    install(str(tree))


@pytest.mark.parametrize("path", [BLOCK_POOL, METRICS, MODULE_PATH, SUITE_BESIDE])
def test_what_was_edited_since_is_not_undone(tree: Path, path: str) -> None:
    install(str(tree))
    with (tree / path).open("a") as file:
        file.write("# mine\n")
    before = picture(tree)
    for command in (install, uninstall):
        with pytest.raises(
            InputError, match=f"edited since the policy was installed: {path}; undo those edits"
        ):
            command(str(tree))
    assert picture(tree) == before
    found = status(str(tree))
    assert found.state == "drifted"
    assert dict(found.files)[path] == "edited"


def test_over_the_policy_of_another_keepwarm(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = picture(tree)
    with monkeypatch.context() as older:
        older.setattr(installer, "policy_module", lambda: "older = True\n")
        older.setattr(installer, "__version__", "0.0.1")
        install(str(tree))
    found = status(str(tree))
    assert (found.state, found.keepwarm, found.matches_this_keepwarm) == ("installed", "0.0.1", False)
    (tree / "vllm/_version.py").write_text(
        "__version__ = '0.32.1.dev0+gabc.d20260101'\n"
    )  # a build of a patched tree
    assert install(str(tree)).changed
    found = status(str(tree))
    assert (found.state, found.keepwarm, found.matches_this_keepwarm) == ("installed", __version__, True)
    uninstall(str(tree))
    assert picture(tree) | {"vllm/_version.py": before["vllm/_version.py"]} == before


def test_a_tree_moved_to_another_tag_is_not_patched_again(tree: Path) -> None:
    commit(tree, "v0.32.0")
    install(str(tree))
    assert install(str(tree)).changed is False
    commit(tree, "v0.32.1")
    with pytest.raises(InputError, match="the git tag at HEAD says"):
        install(str(tree))
    uninstall(str(tree))


def test_a_suite_that_has_to_move_leaves_nothing_behind(tree: Path) -> None:
    install(str(tree))
    (tree / "tests/v1/core").mkdir(parents=True)
    install(str(tree))
    assert (tree / SUITE_IN_TESTS).exists()
    assert not (tree / SUITE_BESIDE).exists()


def test_files_that_git_restored_are_patched_again_or_cleaned_up(tree: Path) -> None:
    before = picture(tree)
    install(str(tree))
    patched = picture(tree)
    for command, expected in ((install, patched), (uninstall, before)):
        for path in (BLOCK_POOL, METRICS):
            (tree / path).write_bytes(before[path].content)
        assert status(str(tree)).state == "incomplete"
        command(str(tree))
        assert picture(tree) == expected


def test_a_file_that_is_gone_comes_back(tree: Path) -> None:
    before = picture(tree)
    install(str(tree))
    (tree / METRICS).unlink()
    assert (status(str(tree)).state, dict(status(str(tree)).files)[METRICS]) == ("drifted", "missing")
    uninstall(str(tree))
    assert {path: file.content for path, file in picture(tree).items()} == {
        path: file.content for path, file in before.items()
    }


def damage_schema(document: dict) -> None:  # type: ignore[type-arg]
    document["schema"] = "keepwarm.vllm-source/2"


def damage_original(document: dict) -> None:  # type: ignore[type-arg]
    document["files"][-1]["original"] += "# mine\n"


def damage_path(document: dict) -> None:  # type: ignore[type-arg]
    document["files"][-1]["path"] = "../outside.py"


def damage_keys(document: dict) -> None:  # type: ignore[type-arg]
    del document["files"][0]["sha256"]


@pytest.mark.parametrize("damage", [damage_schema, damage_original, damage_path, damage_keys])
def test_a_damaged_manifest_is_not_trusted(tree: Path, damage) -> None:  # type: ignore[no-untyped-def]
    install(str(tree))
    document = json.loads((tree / manifest.PATH).read_bytes())
    damage(document)
    (tree / manifest.PATH).write_text(json.dumps(document))
    before = picture(tree)
    for command in (install, uninstall, status):
        with pytest.raises(InputError, match=r"manifest\.json is damaged"):
            command(str(tree))
    assert picture(tree) == before


def test_status_of_a_tree_that_was_never_touched(tree: Path) -> None:
    assert status(str(tree)) == installer.Status("not-installed")


@given(
    path=st.sampled_from(list(NAMES)), at=st.integers(0, 30), kind=st.sampled_from(["add", "drop", "double"])
)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_one_line_of_drift_is_refused_or_undone_byte_for_byte(
    tmp_path_factory: pytest.TempPathFactory, path: str, at: int, kind: str
) -> None:
    tree = write_tree(tmp_path_factory.mktemp("drift"))
    place = tree / path
    lines = place.read_text().splitlines(keepends=True)
    at = min(at, len(lines) - 1)
    lines[at : at + 1] = {"add": ["# mine\n", lines[at]], "drop": [], "double": [lines[at]] * 2}[kind]
    place.write_text("".join(lines))
    before, refusal = picture(tree), ""
    try:
        install(str(tree))
    except InputError as error:
        refusal = str(error)
    else:
        assert status(str(tree)).state == "installed"
        uninstall(str(tree))
    assert picture(tree) == before
    assert bool(refusal) != stands(path, "".join(lines))
    assert not refusal or re.match(rf"anchor '.+' does not match at {path}:\d+: ", refusal)


def stands(path: str, text: str) -> bool:
    """Whether the functions and the lines to edit of a stand-in are what they were."""
    try:
        now, then = (find(each, NAMES[path]) for each in (text, FILES[path]))
    except SyntaxError:
        return False
    same = {name: one.digest for name, one in now.items()} == {name: one.digest for name, one in then.items()}
    anchored = [edit.anchor for edit in anchors.EDITS if edit.path == path]
    return same and all(text.splitlines().count(line) == 1 for line in anchored)
