"""Sweep the parameters of ComputeCache over every trace at hand, and say which defaults that gives.

    python -m scripts.sweep_computecache            # print the tables
    python -m scripts.sweep_computecache --write    # and put them into docs/design/computecache.md

Traces: agent sessions, both Mooncake traces, the helpdesk's traffic, the healthy labelled cases, each at six
capacities, evenly spaced by ratio, from the largest request to all distinct blocks. And floods at 127 to
2,047 blocks of 16: a prefix of 800 tokens is asked for twice, then come 4, 40 or 320 prompts of 810 tokens
that nobody sends again, over and over. All figures are simulated, requests one after another.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from keepwarm.cache.dense import DenseTrace
from keepwarm.cache.intern import intern_requests
from keepwarm.cache.kernels import run_kernel
from keepwarm.cache.load import load_trace
from keepwarm.cache.options import TraceOptions
from keepwarm.cache.replay import CacheRequest
from scripts.markers import between
from scripts.sweep_report import OTHERS, SETTINGS, Case, Cell, report

REPOSITORY = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("KEEPWARM_SHARED", REPOSITORY.parent / "shared"))
PAGE = REPOSITORY / "docs" / "design" / "computecache.md"
START = "<!-- sweep: made by `python -m scripts.sweep_computecache --write` -->"
END = "<!-- end of sweep -->"

CAPACITIES = 6
FLOODS = (4, 40, 320)
FLOOD_CAPACITIES = (127, 255, 511, 1023, 2047)
FLOOD_PROMPTS = 2000
HOT_BLOCKS, BLOCK_SIZE, PROMPT_TOKENS = 50, 16, 810


def cases() -> Iterator[Case]:
    """The recorded traces, small ones last, then the floods."""
    paths = [
        SHARED / "data/agent_sessions/claude_code_sessions.jsonl.gz",
        SHARED / "data/mooncake/conversation_trace.jsonl.gz",
        SHARED / "data/mooncake/synthetic_trace.jsonl.gz",
        REPOSITORY / "examples/helpdesk/traffic.jsonl.gz",
        *sorted((SHARED / "cases/healthy").glob("*.jsonl*")),
    ]
    for path in paths:
        trace = load_trace(str(path), TraceOptions()).dense
        smallest = max(1, -(-int(trace.prompt_tokens.max()) // trace.block_size))
        spaced = np.geomspace(smallest, max(smallest, trace.distinct_blocks), CAPACITIES)
        name = "helpdesk" if path.is_relative_to(REPOSITORY) else path.name.partition(".")[0]
        yield Case(name.replace("_", " "), trace, tuple(sorted({round(each) for each in spaced.tolist()})))
    for prompts in FLOODS:
        yield Case(f"flood of {prompts}", flood(prompts), FLOOD_CAPACITIES, flood_prompts=prompts)


def flood(prompts: int) -> DenseTrace:
    """The hot prefix twice, then so many one-use prompts; as often as ``FLOOD_PROMPTS`` allow, but twice."""
    fresh = itertools.count(HOT_BLOCKS)
    hot = np.arange(HOT_BLOCKS, dtype=np.uint64)
    requests: list[CacheRequest] = []
    for _ in range(max(2, FLOOD_PROMPTS // prompts)):
        requests += [CacheRequest(hot, PROMPT_TOKENS)] * 2
        for _ in range(prompts):
            blocks = np.array(list(itertools.islice(fresh, HOT_BLOCKS)), dtype=np.uint64)
            requests.append(CacheRequest(blocks, PROMPT_TOKENS))
    return intern_requests(requests, BLOCK_SIZE)


def hit_percent(trace: DenseTrace, policy: str, capacity_blocks: int, **parameters: object) -> float:
    """Hit tokens of all prompt tokens."""
    run = run_kernel(trace, policy=policy, capacity_blocks=capacity_blocks, **parameters)
    return 100 * int(run.hit_blocks.sum()) * trace.block_size / int(trace.prompt_tokens.sum())


def measure(case: Case, capacity_blocks: int) -> Cell:
    """All policies and all settings at one capacity."""
    others = {policy: hit_percent(case.trace, policy, capacity_blocks) for policy in OTHERS}
    settings = {
        setting: hit_percent(case.trace, "computecache", capacity_blocks, **setting._asdict())
        for setting in SETTINGS
    }
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
