"""Frames per second of the break map, agent sessions, software rendering, the worst of four motions."""

from __future__ import annotations

import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.harness import Result, UnavailableError, run_keepwarm
from bench.traces import AGENT_SESSIONS, REPOSITORY

TARGET = "≥ 50"
CAPACITY_BLOCKS = 16_384  # blocks of 64: a cache of a million tokens
SCRIPT = REPOSITORY / "web/bench/break_map_fps.mjs"
CHROMIUM = os.environ.get("KEEPWARM_TEST_CHROMIUM", "chromium")


def run() -> Result:
    """Diagnose, serve, and drive headless Chromium; only frames whose pixels changed count.

    The value is the changed frames per second of the slowest motion. The check of the pixels runs in the same
    frames and is not taken off; ``check`` says what it costs. ``drawn``: frames that the compositor
    drew, 60 per s at most.
    """
    chromium, node = shutil.which(CHROMIUM), shutil.which("node")
    if chromium is None or node is None:
        raise UnavailableError("no Chromium or no Node.js here")
    if not (REPOSITORY / "web/node_modules/playwright-core").is_dir():
        raise UnavailableError("web/node_modules holds no playwright-core")
    with tempfile.TemporaryDirectory() as folder:
        out = str(Path(folder) / "diagnosis")
        capacity = ("--capacity-blocks", str(CAPACITY_BLOCKS))
        run_keepwarm("diagnose", str(AGENT_SESSIONS), *capacity, "--out", out)
        requests = json.loads((Path(out) / "diagnosis.json").read_bytes())["input"]["requests"]
        with served(folder) as address:
            command = [node, str(SCRIPT), address, chromium]
            done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
    return _result(json.loads(done.stdout.splitlines()[-1]), requests)


@contextmanager
def served(folder: str) -> Iterator[str]:
    """``keepwarm serve`` on a free port; gives the address to open and ends the server."""
    command = [str(Path(sys.executable).parent / "keepwarm"), "serve", folder, "--no-open", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            address = server.stdout.readline().strip() if server.stdout else ""
            if not address:
                raise OSError("keepwarm serve gave no address")
            yield address
        finally:
            server.send_signal(signal.SIGTERM)


def _result(document: dict[str, object], requests: int) -> Result:
    phases = document["phases"]
    viewport = document["viewport"]
    if not isinstance(phases, dict) or not isinstance(viewport, dict):
        raise TypeError("the script printed another document")
    detail: dict[str, object] = {
        "requests": requests,
        "window": f"{viewport['width']} × {viewport['height']}",
        "software rendering": f"--disable-gpu, WebGL renderer {document['renderer']}",
    }
    slowest = float("inf")
    for name, phase in phases.items():
        seconds = phase["elapsedMs"] / 1000
        intervals = sorted(phase["intervals"])
        per_s = len(intervals) / seconds
        slowest = min(slowest, per_s)
        worst = intervals[int(0.9 * (len(intervals) - 1))]
        detail[name] = (
            f"{per_s:.1f} per s (median {1000 / statistics.median(intervals):.0f}, "
            f"worst decile {1000 / worst:.0f}; {len(intervals)} changed of {phase['frames']}, "
            f"{phase['drawn']} drawn, check {phase['checkedMs']:.1f} ms)"
        )
    return Result("break-map-fps", round(slowest, 1), "frames per s", detail)
