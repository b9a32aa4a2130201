"""Peak GiB of `keepwarm diagnose` with half the memory it takes: 400 MB of unrelated prompts in 512 MiB."""

from __future__ import annotations

import tempfile
from pathlib import Path

from bench.diagnose_memory import unique_prompts, write_trace
from bench.harness import Result, run_keepwarm

TARGET = "≤ 0.5"
SIZE_BYTES = 400_000_000
MEMORY = "512MiB"


def run() -> Result:
    """Diagnose one trace with a budget and without, each in its own process; read their peaks and times."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "unique.jsonl"
        requests = write_trace(trace, unique_prompts, SIZE_BYTES)
        spill = ("--memory", MEMORY, "--spill", str(Path(folder) / "spill"))
        within = run_keepwarm("diagnose", str(trace), "--json", *spill)
        free = run_keepwarm("diagnose", str(trace), "--json")
    detail: dict[str, object] = {
        "GB": SIZE_BYTES / 1e9,
        "requests": requests,
        "--memory": MEMORY,
        "GiB without": round(free.peak_gib, 2),
        "wall s": round(within.wall_s),
        "wall s without": round(free.wall_s),
        "time ratio": round(within.wall_s / free.wall_s, 2),
    }
    return Result("diagnose-spilled", round(within.peak_gib, 2), "GiB", detail)
