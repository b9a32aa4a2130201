"""Sweep the parameters of ComputeCache over every trace at hand, and say which defaults that gives.

    python -m scripts.sweep_computecache            # print the tables
    python -m scripts.sweep_computecache --write    # and put them into docs/design/computecache.md

``sweep_traces.py`` says which traces, ``sweep_report.py`` by which criterion. All figures are simulated,
requests one after another.
"""

from __future__ import annotations

import argparse
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from keepwarm.cache.dense import DenseTrace
from keepwarm.cache.kernels import run_kernel
from scripts.markers import between
from scripts.sweep_report import FLOOR_SETTINGS, OTHERS, SETTINGS, Cell, Setting, report
from scripts.sweep_traces import REPOSITORY, Case, cases

PAGE = REPOSITORY / "docs" / "design" / "computecache.md"
START = "<!-- sweep: made by `python -m scripts.sweep_computecache --write` -->"
END = "<!-- end of sweep -->"


def hit_percent(trace: DenseTrace, policy: str, capacity_blocks: int, **parameters: Any) -> float:
    """Hit tokens of all prompt tokens."""
    run = run_kernel(trace, policy=policy, capacity_blocks=capacity_blocks, **parameters)
    return 100 * int(run.hit_blocks.sum()) * trace.block_size / trace.query_tokens


def measure(case: Case, capacity_blocks: int) -> Cell:
    """All policies and settings at one capacity; settings that are the same rule there are run once."""
    others = {policy: hit_percent(case.trace, policy, capacity_blocks) for policy in OTHERS}
    settings: dict[Setting, float] = {}
    found: dict[Setting, float] = {}
    for setting in SETTINGS if case.kind in ("recorded", "flood") else FLOOR_SETTINGS:
        rule = setting.at(capacity_blocks)
        if rule not in found:
            found[rule] = hit_percent(case.trace, "computecache", capacity_blocks, **rule._asdict())
        settings[setting] = found[rule]
    return Cell(case, capacity_blocks, others, settings)


def main() -> int:
    """Run the sweep; 1 if the defaults in the code are not what it chooses."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", action="store_true", help=f"put the tables into {PAGE.name}")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    arguments = parser.parse_args()
    jobs = [(case, capacity) for case in cases() for capacity in case.capacities_blocks]
    with ThreadPoolExecutor(arguments.threads) as pool:
        found = report(list(pool.map(lambda job: measure(*job), jobs)))
    print(found.text)
    if arguments.write:
        PAGE.write_text(between(PAGE.read_text(), START, END, found.text))
    if not found.confirms_defaults:
        print("the defaults in the code are not those the criterion chooses", file=sys.stderr)
    return 0 if found.confirms_defaults else 1


if __name__ == "__main__":
    sys.exit(main())
