"""Two real vLLM servers on CPUs behind the real vllm-router: `make test-vllm` runs these.

It runs them in vLLM's environment and sets KEEPWARM_TEST_VLLM; elsewhere they are not collected. Where they
are, a missing model or router is an error. ``fleet`` is the two servers with empty caches, whatever a test
before did to them (those that kill one come last, and spare the others a restart); tests put a router before
them with ``fleet.route(policy)``. The model has no weights: answers are nonsense, hits are real.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from keepwarm.canary.servers.health import is_healthy
from keepwarm.canary.servers.local import cpu_options
from scripts.fleet.local import CACHEWISE, Fleet
from scripts.fleet.router import ROUTER_PYTHON

collect_ignore_glob = [] if os.environ.get("KEEPWARM_TEST_VLLM") else ["test_*.py"]

TOKEN = "token-of-the-fleet-3f9a52c1"
POOL_BLOCKS = 1024  # nothing is evicted here
READY_WITHIN_S = 600.0  # two at once, and the machine may have other things to do
STOP_WITHIN_S = 5.0  # what a killed server leaves behind ends by no kind word


@pytest.fixture(scope="session")
def started(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    model = Path(os.environ.get("KEEPWARM_TEST_MODELS", repository / "build" / "models")) / "tiny"
    if not (model / "config.json").is_file():
        pytest.fail(f"no model in {str(model)!r}; `make vllm-env` makes it, for {sys.executable!r}")
    if not ROUTER_PYTHON.exists():
        pytest.fail(f"no router at {str(ROUTER_PYTHON)!r}; `make test-vllm` sets it up")
    options = cpu_options(
        str(model), pool_blocks=POOL_BLOCKS, max_model_len_tokens=4096, arguments=("--load-format", "dummy")
    )
    options = replace(options, ready_within_s=READY_WITHIN_S, stop_within_s=STOP_WITHIN_S)
    with Fleet(options, CACHEWISE, 2, tmp_path_factory.mktemp("fleet"), token=TOKEN) as fleet:
        yield fleet


@pytest.fixture
def fleet(started: Fleet) -> Fleet:
    for number, replica in enumerate(started.replicas):
        if not is_healthy(replica.base_url):
            started.restart(number)
    started.empty_caches()
    return started
