"""Time to first token of a hot prefix after a flood, real vLLM on CPUs, plugin in lru against active."""

from __future__ import annotations

import os
import statistics
import tempfile
from pathlib import Path

from bench.harness import Result, UnavailableError
from bench.kernel_vs_vllm import VLLM_PYTHON
from bench.traces import REPOSITORY

TARGET = "≥ 5×"
MODEL = Path(os.environ.get("KEEPWARM_SMOLLM2", REPOSITORY / "build/models/smollm2"))
FLOOD = (4, 8, 16, 24, 32, 40)  # from the first on stock LRU has lost the prefix


def run() -> Result:
    """SmolLM2, 128 blocks of 16 tokens, one server after the other; the same requests in the same order.

    Medians over the hot requests after each batch. It fails if a request failed, if the server's counters
    contradict its answers, or if the generated text differs.
    """
    from keepwarm.canary.pressure import PressureOptions, PressureReport, run_pressure
    from keepwarm.canary.servers.local import LocalServer, cpu_options

    if not VLLM_PYTHON.exists() or not (MODEL / "config.json").exists():
        raise UnavailableError(f"no vLLM at {str(VLLM_PYTHON)!r}, or no model at {str(MODEL)!r}")
    reports: dict[str, PressureReport] = {}
    with (
        tempfile.TemporaryDirectory() as logs,
        LocalServer(cpu_options(str(MODEL), python=str(VLLM_PYTHON)), Path(logs)) as server,
    ):
        for mode in ("lru", "active"):
            server.start({"COMPUTECACHE_MODE": mode})
            reports[mode] = run_pressure(server.base_url, PressureOptions(flood=FLOOD))
    texts = {tuple(step.text for step in report.steps) for report in reports.values()}
    if len(texts) != 1 or any(r.failed_requests or not r.consistent for r in reports.values()):
        raise ValueError(f"the runs cannot be compared: {reports}")
    detail: dict[str, object] = {"flood_requests": FLOOD[-1], "hot_requests": len(FLOOD)}
    medians_s = {}
    for mode, report in reports.items():
        times_s = [step.ttft_s for step in report.steps if step.ttft_s is not None]
        medians_s[mode] = statistics.median(times_s)
        detail[f"{mode}_ttft_s"] = round(medians_s[mode], 3)
        detail[f"{mode}_cached_tokens"] = report.post_flood_cached_tokens
    return Result("hot-prefix-ttft", round(medians_s["lru"] / medians_s["active"], 1), "×", detail)
