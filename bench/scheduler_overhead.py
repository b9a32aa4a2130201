"""CPU of vLLM's `schedule()` and `update_from_output()`, queue orders against stock, 200 requests waiting."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from bench.harness import Result, UnavailableError
from bench.kernel_vs_vllm import VLLM_PYTHON
from bench.traces import REPOSITORY

TARGET = "≤ 1.10× for both orders"
CASES = ("slots", "memory", "set")
ORDERS = ("cachewise", "active-set")
ROUNDS = 40


def run() -> Result:
    """Two stock schedulers and one of each order take turns, a batch of steps at a time.

    Each ratio is the median of the rounds' ratios to stock, with its 95% interval; ``stock_again`` is stock
    against stock, the noise. The value is the worst of both orders in three cases: all slots taken, memory
    full, and the active set full. It fails if the sides did not do the same work, or had faults.
    """
    if not VLLM_PYTHON.exists():
        raise UnavailableError(f"no vLLM at {str(VLLM_PYTHON)!r}")
    detail: dict[str, object] = {"rounds": ROUNDS, "waiting": 200}
    worst = 0.0
    for case in CASES:
        found = _measured(case)
        detail[f"{case} stock_us_per_step"] = found["stock_us_per_step"]
        detail[f"{case} running"] = found["per_step"]["stock"]["running"]
        for side, (median, low, high) in found["ratios"].items():
            detail[f"{case} {side}"] = f"{median:.3f} [{low:.3f}, {high:.3f}]"
            if side in ORDERS:
                worst = max(worst, median)
    return Result("scheduler-overhead", round(worst, 3), "×", detail)


def _measured(case: str) -> dict[str, Any]:
    command = [VLLM_PYTHON, "-m", "bench.vllm_waiting", case, str(ROUNDS)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=REPOSITORY)
    document: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return document
