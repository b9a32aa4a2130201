"""CPU of vLLM's `schedule()` and `update_from_output()`, active against stock, 64 requests that decode."""

from __future__ import annotations

import json
import statistics
import subprocess
from typing import Any

from bench.harness import Result, UnavailableError
from bench.kernel_vs_vllm import VLLM_PYTHON
from bench.traces import REPOSITORY

TARGET = "≤ 1.03×; prefill alone ≤ 1.3×"
POOL_BLOCKS = (128, 8_192, 50_000)
RUNS = 7  # each with processes of its own: one may be some per cent slower than its twin, whatever it runs
ROUNDS = 8


def run() -> Result:
    """Two stock schedulers, one in mode lru and one of each rule take turns, a batch of steps at a time.

    All serve the same requests, and it fails if their steps differ in requests or tokens. Each ratio is the
    median over the runs of the median of the rounds' ratios to stock, with the least and the largest run;
    ``stock_again`` is stock against stock, the noise. The value is that of the rule that is the default, at
    the worst size.
    """
    if not VLLM_PYTHON.exists():
        raise UnavailableError(f"no vLLM at {str(VLLM_PYTHON)!r}")
    detail: dict[str, object] = {"runs": RUNS, "rounds": ROUNDS}
    worst = 0.0
    for pool_blocks in POOL_BLOCKS:
        documents = [_measured(pool_blocks) for _ in range(RUNS)]
        for kind in documents[0]:
            shown = f"{pool_blocks} blocks {kind}"
            runs = [document[kind] for document in documents]
            detail[f"{shown} stock_us_per_step"] = statistics.median(run["stock_us_per_step"] for run in runs)
            for side in runs[0]["ratios"]:
                ratios = sorted(run["ratios"][side][0] for run in runs)
                median = statistics.median(ratios)
                detail[f"{shown} {side}"] = f"{median:.3f} [{ratios[0]:.3f}, {ratios[-1]:.3f}]"
                if (kind, side) == ("decode", "boundary"):
                    worst = max(worst, median)
    return Result("plugin-overhead", round(worst, 3), "×", detail)


def _measured(pool_blocks: int) -> dict[str, Any]:
    command = [VLLM_PYTHON, "-m", "bench.vllm_steps", str(pool_blocks), str(ROUNDS)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=REPOSITORY)
    document: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return document
