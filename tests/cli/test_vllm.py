from __future__ import annotations

import json
import re
from pathlib import Path
from typing import get_args

import pytest

from keepwarm import __version__
from keepwarm.cli import vllm as command
from keepwarm.vllm.fingerprints import BLOCK_POOL, find
from keepwarm.vllm.source import anchors, manifest
from keepwarm.vllm.source.installer import State
from keepwarm.vllm.source.manifest import FileState, digest
from keepwarm.vllm.source.policy_module import MODULE_PATH, policy_module
from tests.cli.conftest import Keepwarm
from tests.cli.test_commands import one_line
from tests.vllm_source.trees import FILES, METRICS, NAMES, picture, write_tree

CHANGES = f"""\
  edited  {METRICS}
  edited  {BLOCK_POOL}
  added   {MODULE_PATH}
  added   vllm/v1/core/computecache_safety.py
"""


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A stand-in for a checkout, beside which the commands run."""
    table = {
        path: {name: found.digest for name, found in find(FILES[path], names).items()}
        for path, names in NAMES.items()
    }
    monkeypatch.setattr(anchors, "FINGERPRINTS", table)
    write_tree(tmp_path / "checkout")
    monkeypatch.chdir(tmp_path)
    return "checkout"


def test_there_and_back(keepwarm_cli: Keepwarm, tree: str) -> None:
    before = picture(Path(tree))
    checked = keepwarm_cli("vllm", "install", tree, "--check")
    assert (checked.exit_code, checked.stderr) == (0, "")
    head = "ComputeCache can go into vLLM 0.32.0; it does nothing until COMPUTECACHE_MODE is set\n"
    assert checked.stdout == head + CHANGES
    assert picture(Path(tree)) == before

    installed = keepwarm_cli("vllm", "install", tree)
    assert (installed.exit_code, installed.stderr) == (0, "")
    assert installed.stdout == (
        head.replace("can go into", "is now in") + CHANGES + "test it there: "
        "python checkout/vllm/v1/core/computecache_safety.py\n"
    )
    again = keepwarm_cli("vllm", "install", tree)
    assert (again.exit_code, again.stdout) == (
        0,
        "ComputeCache is in vLLM 0.32.0 already; nothing to change\n",
    )

    undone = keepwarm_cli("vllm", "uninstall", tree)
    assert (undone.exit_code, undone.stdout.splitlines()[0]) == (0, "ComputeCache is out again")
    assert picture(Path(tree)) == before
    again = keepwarm_cli("vllm", "uninstall", tree)
    assert (again.exit_code, again.stdout) == (0, "ComputeCache is not installed there; nothing to change\n")


def test_status_says_what_is_there(keepwarm_cli: Keepwarm, tree: str) -> None:
    assert keepwarm_cli("vllm", "status", tree).stdout == "not installed\n"
    keepwarm_cli("vllm", "install", tree)
    lines = keepwarm_cli("vllm", "status", tree).stdout.splitlines()
    assert lines[:3] == [
        "installed",
        f"  vLLM 0.32.0, from keepwarm {__version__}, the same as this keepwarm",
        f"  policy module SHA-256 {digest(policy_module().encode())}",
    ]
    assert f"  as installed     {BLOCK_POOL}" in lines
    (Path(tree) / BLOCK_POOL).write_text("pass\n")
    lines = keepwarm_cli("vllm", "status", tree).stdout.splitlines()
    assert lines[0].startswith("drifted: ")
    assert f"  edited           {BLOCK_POOL}" in lines


def test_every_state_has_its_words() -> None:
    assert set(command._FILES) == set(get_args(FileState))
    assert set(command._STATES) == set(get_args(State))


def test_status_as_a_document(keepwarm_cli: Keepwarm, tree: str) -> None:
    bare = json.loads(keepwarm_cli("vllm", "status", tree, "--json").stdout)
    assert bare == {
        "schema": "keepwarm.vllm-source-status/1",
        "source_dir": "checkout",
        "state": "not-installed",
        "vllm": None,
        "keepwarm": None,
        "module_sha256": None,
        "matches_this_keepwarm": None,
        "files": [],
    }
    keepwarm_cli("vllm", "install", tree)
    full = json.loads(keepwarm_cli("vllm", "status", tree, "--json").stdout)
    assert list(full) == list(bare)
    assert (full["state"], full["vllm"], full["matches_this_keepwarm"]) == ("installed", "0.32.0", True)
    assert {"path": MODULE_PATH, "state": "installed"} in full["files"]


def test_the_commands_of_the_guide_run(
    keepwarm_cli: Keepwarm, tree: str, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (repository / "docs" / "how-to" / "install-in-vllm.md").read_text()
    commands = re.findall(r"^keepwarm (vllm .*) vllm((?: --check)?)$", page, re.MULTILINE)
    assert [words for words, _ in commands] == [
        "vllm install",
        "vllm install",
        "vllm status",
        "vllm uninstall",
    ]
    (Path(tree) / "tests/v1/core").mkdir(parents=True)
    Path(tree).rename("vllm")
    outputs = []
    for words, option in commands:
        result = keepwarm_cli(*words.split(), "vllm", *option.split())
        assert (result.exit_code, result.stderr) == (0, "")
        outputs.append(result.stdout)
    assert f"```text\n{outputs[1]}```" in page


def test_refusals_are_one_line(keepwarm_cli: Keepwarm, tree: str) -> None:
    anchor = anchors.EDITS[1].anchor
    for break_it, arguments, message in (
        (lambda: None, ("install", "nowhere"), "'nowhere' is no folder; give the root of a vLLM checkout"),
        (lambda: None, ("install", tree, "--assume-version", "1"), "cannot assume vLLM '1'"),
        (
            lambda: (Path(tree) / BLOCK_POOL).write_text(FILES[BLOCK_POOL].replace(anchor, "        pass")),
            ("install", tree),
            "anchor 'policy of the pools' does not match at vllm/v1/core/block_pool.py:",
        ),
        (
            lambda: (Path(tree) / manifest.PATH).write_text("{}"),
            ("status", tree, "--json"),
            "computecache.manifest.json is damaged",
        ),
    ):
        break_it()
        result = keepwarm_cli("vllm", *arguments)
        assert (result.exit_code, result.stdout) == (2, ""), arguments
        assert message in one_line(result.stderr)
