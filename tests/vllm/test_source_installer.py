"""The source installer on vLLM's own files: copies of those that it reads or that the pool needs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from keepwarm._errors import InputError
from keepwarm.vllm.fingerprints import BLOCK_POOL, FINGERPRINTS, find
from keepwarm.vllm.source import anchors, install, status, uninstall
from tests.vllm_source.trees import VERSION_FILE, picture

COPIED = (
    *anchors.paths(),
    VERSION_FILE,
    "vllm/utils/math_utils.py",
    "vllm/v1/core/__init__.py",
    "vllm/v1/core/kv_cache_metrics.py",
)
FUNCTIONS = [(path, name) for path, names in FINGERPRINTS.items() for name in names]
RULES = ("boundary", "window")
KEPT_BLOCKS = 9  # of 10: the last block of a prompt is always computed


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """vLLM 0.32.0 as far as the installer and the pool need it; vLLM is not imported for it."""
    spec = find_spec("vllm")
    assert spec is not None
    assert spec.origin is not None
    for path in COPIED:
        target = tmp_path / "checkout" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(Path(spec.origin).parent.parent / path, target)
    return tmp_path / "checkout"


def test_there_and_back_byte_for_byte(tree: Path) -> None:
    before = picture(tree)
    assert install(str(tree), check=True).vllm == "0.32.0"
    assert picture(tree) == before
    install(str(tree))
    patched = picture(tree)
    assert status(str(tree)).state == "installed"
    assert install(str(tree)).changed is False
    assert picture(tree) == patched
    uninstall(str(tree))
    assert picture(tree) == before


@pytest.mark.parametrize("edit", anchors.EDITS, ids=lambda edit: edit.name)
def test_an_edit_whose_line_drifted_is_refused(tree: Path, edit: anchors.Edit) -> None:
    place = tree / edit.path
    lines = place.read_text().split("\n")
    at = lines.index(edit.anchor)
    place.write_text("\n".join([*lines[:at], f"{edit.anchor}  # drifted", *lines[at + 1 :]]))
    assert_refused(tree, f"anchor '{edit.name}' does not match at {edit.path}:{at + 1}: ")


@pytest.mark.parametrize(("path", "name"), FUNCTIONS, ids=[name for _, name in FUNCTIONS])
def test_a_function_with_one_more_line_is_refused(tree: Path, path: str, name: str) -> None:
    place = tree / path
    first_line = find(place.read_text(), [name])[name].first_line
    lines = place.read_text().split("\n")
    head = next(at for at in range(first_line, len(lines)) if lines[at - 1].rstrip().endswith(":"))
    lines.insert(head, "    " * (2 if "." in name else 1) + "# drifted")
    place.write_text("\n".join(lines))
    assert_refused(
        tree, f"anchor '{name}' does not match at {path}:{first_line}: it is not that of vLLM 0.32.0"
    )


def assert_refused(tree: Path, message: str) -> None:
    before = picture(tree)
    with pytest.raises(InputError) as caught:
        install(str(tree))
    assert str(caught.value).startswith(message)
    assert picture(tree) == before


def run(tree: Path, way: str, **settings: str) -> dict[str, Any]:
    """vLLM's own pool of ``tree`` in a process without torch."""
    command = [sys.executable, "-m", "tests.vllm_source.stubbed", str(tree), way, "5"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COMPUTECACHE_")}
    unhurried = {"COMPUTECACHE_DECISION_BUDGET_US": "1000000000"}
    answer = subprocess.run(
        command, capture_output=True, text=True, env=environment | unhurried | settings, cwd=Path.cwd()
    )
    assert answer.returncode == 0, answer.stderr
    document: dict[str, Any] = json.loads(answer.stdout)
    assert document["heavy"] == []
    return document


@pytest.mark.parametrize("rule", RULES)
def test_a_patched_pool_decides_as_the_plugin_does(tree: Path, rule: str) -> None:
    small = {"COMPUTECACHE_MODE": "active", "COMPUTECACHE_RULE": rule, "COMPUTECACHE_SCAN_LIMIT": "8"}
    plugin = run(tree, "plugin", **small)
    install(str(tree))
    patched = run(tree, "patched", **small)
    assert (plugin.pop("policy"), patched.pop("policy")) == (
        "keepwarm.vllm.hooks",
        "vllm.v1.core.computecache",
    )
    assert len(patched["orders"]) == 2_000
    assert patched["queue"] == "ComputeCacheQueue"
    assert without_times(patched) == without_times(plugin)


def without_times(document: dict[str, Any]) -> dict[str, Any]:
    """All but how long decisions took."""
    return {name: value for name, value in document.items() if name != "counters"}


def test_a_patched_pool_keeps_a_hot_prefix_that_stock_loses(tree: Path) -> None:
    stock = run(tree, "patched")
    assert (stock["pool"], stock["hot_prefix_kept_blocks"]) == ("BlockPool", 0)
    install(str(tree))
    active = run(tree, "patched", COMPUTECACHE_MODE="active")
    assert (active["pool"], active["hot_prefix_kept_blocks"]) == ("ComputeCachePool", KEPT_BLOCKS)
    assert active["orders"] != stock["orders"]
    for mode in ("lru", "no such mode"):
        rolled_back = run(tree, "patched", COMPUTECACHE_MODE=mode)
        assert rolled_back["hot_prefix_kept_blocks"] == 0
        assert rolled_back["queue"] == "FreeKVCacheBlockQueue"
        assert rolled_back["orders"] == stock["orders"]
    unset = run(tree, "patched")
    assert (unset["pool"], unset["orders"]) == ("BlockPool", stock["orders"])


def test_the_plugin_leaves_a_patched_pool_alone(tree: Path) -> None:
    install(str(tree))
    both, patched = (run(tree, way, COMPUTECACHE_MODE="active") for way in ("plugin", "patched"))
    assert both["policy"] == patched["policy"] == "vllm.v1.core.computecache"
    assert both["orders"] == patched["orders"]


def test_the_safety_suite_passes_in_the_tree(tree: Path) -> None:
    suite = tree / install(str(tree)).added[-1]
    command = [sys.executable, "-I", "-S", "-B", str(suite)]
    answer = subprocess.run(command, capture_output=True, text=True, cwd=tree)
    assert answer.returncode == 0, answer.stderr


def test_every_step_of_an_installation_can_fail(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = picture(tree)
    real, calls = Path.replace, 0
    for n in range(1, 6):  # the manifest, two files added, two edited
        calls = 0

        def replace(self: Path, target: Path, n: int = n) -> Path:
            nonlocal calls
            calls += 1
            if calls == n:
                raise OSError(5, "Input/output error", str(target))
            return real(self, target)

        with monkeypatch.context() as patch:
            patch.setattr(Path, "replace", replace)
            with pytest.raises(InputError, match=r"cannot write .*: Input/output error; nothing was changed"):
                install(str(tree))
        assert picture(tree) == before
    install(str(tree))
    assert BLOCK_POOL in dict(status(str(tree)).files)
