"""Exact mode: requests per second against vLLM's own `KVCacheManager`, Mooncake, hashes given to both."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from bench.harness import Result, UnavailableError
from bench.traces import CONVERSATION, REPOSITORY

TARGET = "≥ 300×"
CAPACITY_BLOCKS = 8_192  # 4 M tokens
RUNS = 3
VLLM_PYTHON = Path(os.environ.get("KEEPWARM_VLLM_PYTHON", REPOSITORY / ".venvs/vllm/bin/python"))


def run() -> Result:
    """Both in the environment that has vLLM, run in turns; equal hits and evictions, or it fails.

    The value compares whole requests: look-up, prompt, answer, free. vLLM's manager is asked for
    the answer's slots token by token, as its engine does; in one call for all is shown beside it.
    """
    if not VLLM_PYTHON.exists():
        raise UnavailableError(f"no vLLM at {str(VLLM_PYTHON)!r}")
    command = [VLLM_PYTHON, "-m", "bench.vllm_manager", CONVERSATION, str(CAPACITY_BLOCKS), str(RUNS)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=REPOSITORY)
    document = json.loads(done.stdout.splitlines()[-1])
    medians_s = document.pop("medians_s")
    detail = {"capacity_blocks": CAPACITY_BLOCKS, "runs": RUNS} | document
    for name, seconds in medians_s.items():
        detail[f"{name}_us_per_request"] = round(1e6 * seconds / document["requests"], 2)
    detail["answer_at_once_ratio"] = round(medians_s["answer_at_once"] / medians_s["kernel"])
    ratio = medians_s["token_by_token"] / medians_s["kernel"]
    return Result("kernel-vs-vllm", round(ratio), "×", detail)
