"""The traces of the sweep: those recorded, floods, and some of the recorded ones changed to be harder.

Recorded are agent sessions, both Mooncake traces, the helpdesk's traffic, the healthy labelled cases: each at
six capacities, evenly spaced by ratio, from the largest request to all distinct blocks.

A flood: a prefix of 800 tokens is asked for twice, then come so many prompts of 810 tokens that nobody sends
again, over and over. 4, 40 and 320 prompts at 127 to 2,047 blocks of 16; 2,560 at 8,191 blocks.

What was recorded in small pools is short, and hardly reaches ``least_stale_blocks``. So the short traces are
*renewed*: played over and over, each time with prefixes that never came before. And the agent sessions are
made *coarse*: cut into blocks of more tokens, so that the largest request needs few.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np

from bench.traces import AGENT_SESSIONS, CONVERSATION, REPOSITORY, SHARED, dense
from keepwarm.cache.dense import DenseTrace
from keepwarm.cache.intern import intern_requests
from keepwarm.cache.replay import CacheRequest

CAPACITIES = 6
SMALL_POOLS = (127, 255, 511, 1023, 2047)
FLOODS = {4: SMALL_POOLS, 40: SMALL_POOLS, 320: SMALL_POOLS, 2560: (8191,)}
FLOOD_PROMPTS = 2000
HOT_BLOCKS, BLOCK_SIZE, PROMPT_TOKENS = 50, 16, 810
SHORT_REQUESTS = 500
RENEWED_BLOCKS = 200_000  # asked for in all
COARSE_TIMES = (4, 16, 64)


class Case(NamedTuple):
    """A trace and the capacities, in blocks, at which it is replayed; in floods so many one-use prompts."""

    name: str
    kind: Literal["recorded", "flood", "renewed", "coarse"]
    trace: DenseTrace
    capacities_blocks: tuple[int, ...]
    flood_prompts: int = 0


def cases() -> Iterator[Case]:
    """The recorded traces, small ones last, with what is made of each; then the floods."""
    paths = [
        AGENT_SESSIONS,
        CONVERSATION,
        SHARED / "data/mooncake/synthetic_trace.jsonl.gz",
        REPOSITORY / "examples/helpdesk/traffic.jsonl.gz",
        *sorted((SHARED / "cases/healthy").glob("*.jsonl*")),
    ]
    for path in paths:
        trace = dense(path)
        name = "helpdesk" if path.is_relative_to(REPOSITORY) else path.name.partition(".")[0]
        recorded = Case(name.replace("_", " "), "recorded", trace, capacities_of(trace))
        yield recorded
        if trace.requests <= SHORT_REQUESTS:
            yield recorded._replace(kind="renewed", trace=renewed(trace))
        if path == AGENT_SESSIONS:
            for times in COARSE_TIMES:
                cut = coarse(trace, times)
                yield Case(f"{recorded.name}, coarse {times}×", "coarse", cut, capacities_of(cut))
    for prompts, capacities_blocks in FLOODS.items():
        yield Case(f"flood of {prompts:,}", "flood", flood(prompts), capacities_blocks, prompts)


def capacities_of(trace: DenseTrace) -> tuple[int, ...]:
    """From the largest prompt to all distinct blocks."""
    smallest = max(1, trace.largest_prompt_blocks)
    spaced = np.geomspace(smallest, max(smallest, trace.distinct_blocks), CAPACITIES)
    return tuple(sorted({round(each) for each in spaced.tolist()}))


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


def renewed(trace: DenseTrace) -> DenseTrace:
    """The trace over and over, up to ``RENEWED_BLOCKS``, each time with other ids."""
    times = -(-RENEWED_BLOCKS // len(trace.ids))
    requests = [
        each._replace(blocks=each.blocks + np.uint64(again * trace.distinct_blocks))
        for again in range(times)
        for each in requests_of(trace)
    ]
    return intern_requests(requests, trace.block_size)


def coarse(trace: DenseTrace, times: int) -> DenseTrace:
    """The same tokens in blocks ``times`` as large: the last id of each stands for it."""
    requests = [each._replace(blocks=each.blocks[times - 1 :: times]) for each in requests_of(trace)]
    return intern_requests(requests, trace.block_size * times)


def requests_of(trace: DenseTrace) -> Iterator[CacheRequest]:
    """With dense ids for hashes."""
    ids = np.split(trace.ids.astype(np.uint64), trace.starts[1:-1])
    columns = (trace.prompt_tokens, trace.output_tokens, trace.skip_reads)
    return map(CacheRequest, ids, *(column.tolist() for column in columns))
