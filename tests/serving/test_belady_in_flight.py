"""With requests in flight the offline optimum can be beaten: which victim goes decides who is admitted when.

The exception below is cut down from 5 found in 21,000 comparisons on random streams. Whether a request fits
depends on whether what it hits is in use: a hit on a free block takes capacity, a hit on a running
request's block takes none. So a policy that keeps another of two equal blocks can make a request wait. Here
waiting pays: the request that holds the blocks ends first, and less has to be evicted for the next one.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

from keepwarm.cache.pool import BlockPool
from keepwarm.policies import POLICIES
from keepwarm.policies.base import BlockHash, VictimOrder
from keepwarm.policies.belady import Belady
from keepwarm.policies.lfu import Lfu
from keepwarm.serving.base import RequestId, ServerConfig, ServerRequest, StepResult
from keepwarm.serving.engine import Engine

BLOCK = 2
STREAMS = 400


def request(name: str, prompt: int, output: int, blocks: Sequence[int]) -> ServerRequest:
    return ServerRequest(RequestId(name), prompt, output, [BlockHash(block) for block in blocks])


def serve(
    stream: Sequence[ServerRequest], policy: VictimOrder, *, running: int
) -> tuple[int, list[StepResult]]:
    """Hit tokens when all requests arrive at once, and the steps."""
    capacity = policy.capacity_blocks
    config = ServerConfig(BLOCK, capacity, capacity * BLOCK, max_running_requests=running, step_tokens=64)
    engine = Engine(config, BlockPool(capacity, policy))
    for each in stream:
        engine.add(each)
    steps = []
    while len(engine):
        steps.append(engine.step())
    return engine.lookups.hit_tokens, steps


def optimum(stream: Sequence[ServerRequest], capacity: int) -> Belady:
    lookups = [each.blocks[: (each.prompt_tokens - 1) // BLOCK] for each in stream]
    stored = [each.blocks[: (each.prompt_tokens + each.output_tokens - 1) // BLOCK] for each in stream]
    return Belady(capacity, lookups, stored)


def test_the_exception_belady_admits_a_request_sooner_and_pays_for_it() -> None:
    stream = [
        request("a", 2, 1, [5]),
        request("b", 3, 1, [5]),
        request("c", 6, 3, [4, 14, 44]),
        request("d", 2, 4, [4]),  # a twin of c's first block, in the same step: nothing hit, both are kept
        request("e", 9, 1, [4, 14, 44, 133]),
        request("f", 3, 1, [5]),
    ]
    best, with_belady = serve(stream, optimum(stream, 7), running=2)
    better, with_lfu = serve(stream, Lfu(7), running=2)
    assert (best, better) == (8, 10)
    # Belady gives up c's copy of block 4 first. A hit on d's, which is in use, takes no capacity: e fits.
    assert with_belady[4].hit_tokens == {"e": 6}
    assert with_belady[4].evicted == [4, -1, 5]
    # Under lfu the look-up finds c's copy, which is free: e does not fit, waits for d to end, and 5 stays.
    assert with_lfu[4].hit_tokens == {}
    assert with_lfu[5].hit_tokens == {"e": 6, "f": 2}


def test_such_exceptions_are_rare_and_belady_is_best_in_sum() -> None:
    rng = random.Random(7)
    hits: Counter[str] = Counter()
    beaten = 0
    for _ in range(STREAMS):
        stream, capacity, running = random_stream(rng), rng.randint(7, 12), rng.randint(2, 4)
        best, _ = serve(stream, optimum(stream, capacity), running=running)
        hits["belady"] += best
        for name, policy in POLICIES.items():
            if policy is not Belady:
                found, _ = serve(stream, policy(capacity), running=running)
                hits[name] += found
                beaten += found > best
    assert max(hits, key=lambda name: hits[name]) == "belady"
    assert beaten < STREAMS * len(POLICIES) / 100


def random_stream(rng: random.Random) -> list[ServerRequest]:
    """Short prompts over few contents, so that they share prefixes, and answers that fill a block or two."""
    stream = []
    for number in range(rng.randint(4, 14)):
        content, blocks = 1, []
        for _ in range(rng.randint(1, 4)):
            content = content * 3 + rng.randint(0, 1) + 1
            blocks.append(content)
        prompt = len(blocks) * BLOCK + rng.randint(0, 1)
        stream.append(request(f"r{number}", prompt, rng.randint(1, 4), blocks))
    return stream
