"""Run vLLM's own tests in a process of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tests.vllm.own_tests.expected import LEFT_OUT, Selection
from tests.vllm.own_tests.models import write_configurations

HERE = Path(__file__).parent


class Outcome(NamedTuple):
    """How the tests ended, by name, and what was made meanwhile."""

    passed: frozenset[str]
    failed: frozenset[str]
    pools: int
    hooked_pools: int
    hooked_queues: int
    output: str


def run(tests: Path, selection: Selection, settings: dict[str, str], scratch: Path) -> Outcome:
    """``tests`` is where ``scripts/fetch_vllm_tests.py`` put them, ``settings`` the plugin's environment."""
    write_configurations(scratch)
    result = scratch / "result.json"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COMPUTECACHE_")}
    environment |= {
        "PYTHONPATH": os.pathsep.join([str(HERE), str(tests), os.environ.get("PYTHONPATH", "")]),
        "PROBE_RESULT": str(result),
        "HF_HUB_OFFLINE": "1",
        "VLLM_LOGGING_LEVEL": "ERROR",
        "VLLM_NO_USAGE_STATS": "1",
        "OMP_NUM_THREADS": "1",
    }
    call = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "probe",
        "-c",
        str(HERE / "pytest.ini"),
        f"--rootdir={tests}",
    ]
    call += [f"--deselect={LEFT_OUT}"]
    call += [str(tests / "tests" / "v1" / path) for path in selection.paths]
    done = subprocess.run(call, cwd=scratch, env=environment | settings, capture_output=True, text=True)
    assert result.is_file(), f"vLLM's own tests did not run: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    told = json.loads(result.read_text())
    ended: dict[str, set[str]] = {"passed": set(), "failed": set(), "skipped": set()}
    for test, outcome in told["outcomes"].items():
        ended[outcome].add(test)
    return Outcome(frozenset(ended["passed"]), frozenset(ended["failed"]), **told["made"], output=done.stdout)
