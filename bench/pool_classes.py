"""What it costs a block pool of vLLM to change its class once it is made; runs where vLLM is.

``python -m bench.pool_classes`` prints ns per block taken, hashed and freed, for three pools without hooks:
vLLM's own, one whose class was changed to an empty subclass, one that was born as that.
"""

from __future__ import annotations

import gc
import subprocess
import sys
import time
from types import SimpleNamespace

KINDS = ("stock", "changed", "born")
BLOCKS, CYCLES = 64, 1_500


def measure(kind: str) -> float:
    """The least of many cycles: one allocation of 64 blocks, their hashes, one free."""
    from vllm.v1.core.block_pool import BlockPool

    class Subclass(BlockPool):  # type: ignore[misc]
        """Adds nothing."""

    pool = (Subclass if kind == "born" else BlockPool)(8_192, True, 16)
    if kind == "changed":
        pool.__class__ = Subclass
    times_ns = []
    gc.disable()
    for cycle in range(CYCLES):
        hashes = [b"%032d" % (cycle * BLOCKS + depth) for depth in range(BLOCKS)]
        request = SimpleNamespace(block_hashes=hashes)
        started_ns = time.perf_counter_ns()
        blocks = pool.get_new_blocks(BLOCKS)
        pool.cache_full_blocks(request, blocks, 0, BLOCKS, 16, 0)
        pool.free_blocks(reversed(blocks))
        times_ns.append(time.perf_counter_ns() - started_ns)
    return min(times_ns) / BLOCKS


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(f"{sys.argv[1]:8} {measure(sys.argv[1]):,.0f} ns a block", flush=True)
    else:  # each in a process of its own, as specialised instructions are shared within one
        for name in KINDS:
            subprocess.run([sys.executable, "-W", "ignore", "-m", "bench.pool_classes", name], check=True)
