"""``register()`` in processes of their own, as vLLM calls it: what it replaces, says, leaves and shows."""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

# vLLM is imported once; each process is forked from the one that did.
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["vllm.v1.core.block_pool", "vllm.entrypoints.serve.instrumentator.metrics"])

# Run before the code of each test: a log that can be read, and a pool as vLLM makes it.
PRELUDE = """
import json, logging, os, sys, tempfile
tempfile.tempdir = None
for name in [name for name in os.environ if name.startswith(("COMPUTECACHE_", "PROMETHEUS_"))]:
    del os.environ[name]
os.environ |= SETTINGS
from vllm.v1.core import block_pool
from vllm.v1.core.block_pool import BlockPool
from vllm.v1.core.kv_cache_utils import FreeKVCacheBlockQueue
STOCK_INIT = BlockPool.__init__
lines = []
class Kept(logging.Handler):
    def emit(self, record):
        lines.append([record.levelname, record.getMessage()])
log = logging.getLogger("vllm.computecache")
log.addHandler(Kept()); log.setLevel(logging.INFO); log.propagate = False
from keepwarm.vllm.plugin import register
def pool(blocks=32, caching=True):
    return BlockPool(blocks, caching, 16)
def classes(made):
    return [type(made).__name__, type(made.free_block_queue).__name__]
def tell(**facts):
    with open(OUT, "w") as file:
        json.dump({"lines": lines, **facts}, file)
"""
STOCK = ["BlockPool", "FreeKVCacheBlockQueue"]
COUNTING = ["ComputeCachePool", "FreeKVCacheBlockQueue"]
ACTIVE = ["ComputeCachePool", "ComputeCacheQueue"]


Run = Callable[..., dict[str, Any]]


@pytest.fixture
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """What the code tells in a fresh process with these settings alone."""
    out = tmp_path_factory.mktemp("told") / "told.json"

    def run(code: str, **settings: str) -> dict[str, Any]:
        given = f"SETTINGS = {settings!r}\nOUT = {str(out)!r}\n"
        process = PROCESSES.Process(target=exec, args=(given + PRELUDE + code, {}))
        process.start()
        process.join(timeout=300)
        assert process.exitcode == 0
        told: dict[str, Any] = json.loads(out.read_text())
        return told

    return run


def warnings(told: dict[str, Any]) -> list[str]:
    return [line for level, line in told["lines"] if level == "WARNING"]


LOOK = "register()\ntell(classes=classes(pool()), same_init=BlockPool.__init__ is STOCK_INIT)\n"


def test_unset_nothing_is_replaced(run: Run, tmp_path: Path) -> None:
    told = run(LOOK, TMPDIR=str(tmp_path))
    assert told == {"lines": [], "classes": STOCK, "same_init": True}
    assert not [*tmp_path.glob("computecache-*")]


@pytest.mark.parametrize(
    ("mode", "classes", "warned"),
    [
        ("lru", COUNTING, 0),
        ("active", ACTIVE, 0),
        (" Active ", ACTIVE, 0),
        ("fastest", COUNTING, 1),
        ("", COUNTING, 1),
    ],
)
def test_modes(run: Run, mode: str, classes: list[str], warned: int) -> None:
    told = run(LOOK, COMPUTECACHE_MODE=mode)
    assert told["classes"] == classes
    assert len(warnings(told)) == warned


MISMATCHES = {
    "another version": 'import vllm; vllm.__version__ = "0.33.0"\n',
    "a method that another plugin replaced": (
        "stock = BlockPool.touch\nBlockPool.touch = lambda self, blocks: stock(self, blocks)\n"
    ),
    "a method that is gone": "del FreeKVCacheBlockQueue.prepend_n\n",
    "a constructor that another plugin wrapped": (
        "BlockPool.__init__ = lambda self, *args, **options: STOCK_INIT(self, *args, **options)\n"
    ),
}


@pytest.mark.parametrize("change", MISMATCHES.values(), ids=MISMATCHES)
def test_what_is_not_vllm_0_32_0_is_left_alone(run: Run, change: str) -> None:
    told = run(
        change + "before = BlockPool.__init__\nregister()\nregister()\n"
        "tell(same_init=BlockPool.__init__ is before, classes=classes(pool()))\n",
        COMPUTECACHE_MODE="active",
    )
    assert told["same_init"]
    assert told["classes"] == STOCK
    assert len(warnings(told)) == 1
    assert "stock LRU" in warnings(told)[0]


def test_each_invalid_setting_warns_and_takes_its_default(run: Run) -> None:
    told = run(
        LOOK,
        COMPUTECACHE_MODE="active",
        COMPUTECACHE_SCAN_LIMIT="0",
        COMPUTECACHE_PROTECTED_SHARE="1.5",
        COMPUTECACHE_RULE="random",
        COMPUTECACHE_LOG_EVERY="often",
        COMPUTECACHE_REUSE_WEIGHT="7",
    )
    assert [line.split("=")[0].split()[-1] for line in warnings(told)] == [
        "COMPUTECACHE_RULE",
        "COMPUTECACHE_SCAN_LIMIT",
        "COMPUTECACHE_PROTECTED_SHARE",
        "COMPUTECACHE_LOG_EVERY",
    ]
    [line] = [line for level, line in told["lines"] if level == "INFO"]
    for part in ("mode=active", "rule=boundary", "scan_limit=4", "protected_share=0.4", "log_every=256"):
        assert part in line
    assert "reuse_weight=7" in line


def test_one_line_for_each_pool_and_a_second_call_does_nothing(run: Run) -> None:
    told = run(
        "register()\nonce = BlockPool.__init__\nregister()\nmade = pool(33)\n"
        "tell(same_init=BlockPool.__init__ is once, classes=classes(made))\n",
        COMPUTECACHE_MODE="active",
    )
    assert told["same_init"]
    assert told["classes"] == ACTIVE
    assert len(told["lines"]) == 1
    assert "capacity_blocks=32" in told["lines"][0][1]


def test_only_pools_that_cache_are_attached_and_several_work(run: Run) -> None:
    told = run(
        "register()\nmade = [pool(), pool(caching=False), pool(64)]\n"
        "for each in (made[0], made[2]):\n    each.free_blocks(each.get_new_blocks(5))\n"
        "words = made[0].computecache._counters\n"
        "tell(classes=[classes(each) for each in made], decisions=words.get('decisions'))\n",
        COMPUTECACHE_MODE="active",
    )
    assert told["classes"] == [ACTIVE, STOCK, ACTIVE]
    assert told["decisions"] == 2


def test_a_pool_that_cannot_be_attached_stays_stock_and_serves(run: Run) -> None:
    told = run(
        "import keepwarm.vllm.hooks as module\n"
        "def fail(*_):\n    raise RuntimeError('injected')\n"
        "module.Keeper = fail\nregister()\nmade = pool()\nmade.free_blocks(made.get_new_blocks(5))\n"
        "tell(classes=classes(made), free=made.get_num_free_blocks())\n",
        COMPUTECACHE_MODE="active",
    )
    assert told["classes"] == STOCK
    assert told["free"] == 31
    assert len(warnings(told)) == 1


SERVER_PROCESS = """
import json, os, subprocess, sys
from keepwarm.vllm.plugin import register
register()
engine = (
    "from keepwarm.vllm.plugin import register; register(); "
    "from vllm.v1.core.block_pool import BlockPool; BlockPool(8, True, 16)"
)
child = os.fork()
if child == 0:
    exec(engine)
    sys.exit(0)
forked = os.waitpid(child, 0)[1]
started = subprocess.run([sys.executable, "-W", "ignore", "-c", engine]).returncode
folder = os.environ["COMPUTECACHE_COUNTERS_DIR"]
print(json.dumps([folder, forked, started, os.listdir(folder)]))
"""


def test_the_first_process_makes_the_directory_and_removes_it(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COMPUTECACHE_")}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SERVER_PROCESS],
        env=environment | {"COMPUTECACHE_MODE": "lru", "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    folder, forked, started, files = json.loads(done.stdout.splitlines()[-1])
    assert (forked, started) == (0, 0)
    assert Path(folder).parent == tmp_path
    assert len(files) == 2, "one for each engine, though both have ended"
    assert not Path(folder).exists()


def test_without_a_directory_the_policy_works_all_the_same(run: Run, tmp_path: Path) -> None:
    told = run(
        "import tempfile\ndef fail(**_):\n    raise OSError('no room')\ntempfile.mkdtemp = fail\n" + LOOK,
        COMPUTECACHE_MODE="active",
    )
    assert told["classes"] == ACTIVE
    assert len(warnings(told)) == 1
    assert "no metrics" in warnings(told)[0]


# What one engine does, in a process of its own: a hot prompt of 4 blocks, and one-use prompts around it.
ENGINE = """
from types import SimpleNamespace
from vllm.v1.core.block_pool import BlockPool
pool = BlockPool(17, True, 16)
def insert(blocks, name):
    hashes = [b"%s%d" % (name, depth) for depth, _ in enumerate(blocks)]
    request = SimpleNamespace(block_hashes=hashes, num_prompt_tokens=16 * len(hashes))
    pool.cache_full_blocks(request, blocks, 0, len(blocks), 16, 0)
hot = pool.get_new_blocks(4); insert(hot, b"hot"); pool.free_blocks(reversed(hot))
pool.touch(hot); pool.free_blocks(reversed(hot))
for serial in range(5):
    used = pool.get_new_blocks(8); insert(used, b"use%d" % (serial % 4)); pool.free_blocks(reversed(used))
"""
SERVER = """
import asyncio
register()
for _ in range(2):
    child = os.fork()
    if child == 0:
        exec(ENGINE)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
from fastapi import FastAPI
from httpx2 import ASGITransport, AsyncClient
from vllm.entrypoints.serve.instrumentator.metrics import attach_router
app = FastAPI()
attach_router(app)
async def scrape():
    async with AsyncClient(transport=ASGITransport(app), base_url="http://server") as client:
        return [(await client.get("/metrics")).text for _ in range(2)]
tell(scrapes=asyncio.run(scrape()))
"""


@pytest.mark.parametrize("is_multiprocess", [False, True])
@pytest.mark.parametrize("mode", ["lru", "active"])
def test_metrics_of_two_engines_are_summed(
    run: Run, mode: str, is_multiprocess: bool, tmp_path: Path
) -> None:
    settings = {"PROMETHEUS_MULTIPROC_DIR": str(tmp_path)} if is_multiprocess else {}
    told = run(f"ENGINE = {ENGINE!r}\n" + SERVER, COMPUTECACHE_MODE=mode, **settings)
    first, second = (samples(scrape) for scrape in told["scrapes"])
    assert first == second
    is_active = mode == "active"
    expected = {
        "computecache_decisions_total": 12 if is_active else 0,
        "computecache_demoted_blocks_total": 0,
        "computecache_scanned_blocks_total": 0,
        "computecache_tripped": 0,
        'computecache_effective_mode{mode="lru"}': 2 - 2 * is_active,
        'computecache_effective_mode{mode="active"}': 2 * is_active,
        'computecache_effective_rule{rule="boundary"}': 2,
        'computecache_effective_rule{rule="window"}': 0,
        "computecache_scan_limit": 4,
        "computecache_protected_blocks": 8 if is_active else 0,
        'computecache_evicted_blocks_total{class="unhashed"}': 32,
        'computecache_evicted_blocks_total{class="never_hit"}': 56 if is_active else 48,
        'computecache_evicted_blocks_total{class="hit"}': 0 if is_active else 8,
        "computecache_evicted_then_requested_tokens_total": 2 * 8 * 16,
        # Each has four protected blocks, of six that may be: nothing to look at, so one of 64 is timed.
        "computecache_decision_seconds_count": 2 * is_active,
        'computecache_decision_seconds_bucket{le="+Inf"}': 2 * is_active,
    }
    assert {name: first[name] for name in expected} == expected
    assert (first["computecache_reordered_decisions_total"] > 0) == is_active
    assert (first["computecache_decision_seconds_sum"] > 0) == is_active
    kinds = ("allocate", "free", "hit", "evict", "cache", "reset", "order", "pinned", "slow")
    faults = {f'computecache_faults_total{{kind="{kind}"}}': 0 for kind in kinds}
    assert {name: value for name, value in first.items() if "faults" in name} == faults


def samples(text: str) -> dict[str, float]:
    """Samples of ours by name and labels, each of which must stand once."""
    found: dict[str, float] = {}
    for line in text.splitlines():
        if line.startswith("computecache_"):
            name, value = line.rsplit(" ", 1)
            assert name not in found
            found[name] = float(value)
    return found
