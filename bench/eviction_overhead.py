"""CPU of vLLM's `schedule()` and `update_from_output()`, CacheWise's eviction against stock, 64 running."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from bench.harness import Result, UnavailableError
from bench.kernel_vs_vllm import VLLM_PYTHON
from bench.traces import REPOSITORY

TARGET = "none; published for the whole of CacheWise: ≤ 1.09×"
POOL_BLOCKS = (8_192,)
ROUNDS = 24


def run() -> Result:
    """Two stock schedulers, one that keeps track of sessions, and one that evicts by them take turns.

    Each ratio is the median of the rounds' ratios to stock, with its 95% interval; ``stock_again`` is stock
    against stock, the noise. The value is that of decoding; in prefill each step evicts hundreds of blocks.
    """
    if not VLLM_PYTHON.exists():
        raise UnavailableError(f"no vLLM at {str(VLLM_PYTHON)!r}")
    detail: dict[str, object] = {"rounds": ROUNDS}
    worst = 0.0
    for pool_blocks in POOL_BLOCKS:
        document = _measured(pool_blocks)
        worst = max(worst, document["decode"]["ratios"]["cachewise"][0])
        for kind, found in document.items():
            shown = f"{pool_blocks} blocks {kind}"
            detail[f"{shown} stock_us_per_step"] = found["stock_us_per_step"]
            detail[f"{shown} evicted_per_step"] = found["per_step"]["cachewise"]["evicted"]
            for side, (median, low, high) in found["ratios"].items():
                detail[f"{shown} {side}"] = f"{median:.3f} [{low:.3f}, {high:.3f}]"
    return Result("eviction-overhead", round(worst, 3), "×", detail)


def _measured(pool_blocks: int) -> dict[str, Any]:
    command = [VLLM_PYTHON, "-m", "bench.vllm_evicting", str(pool_blocks), str(ROUNDS)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=REPOSITORY)
    document: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return document
