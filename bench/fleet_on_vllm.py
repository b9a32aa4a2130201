"""Eight coding agents, two vLLM servers, the real vllm-router: round robin against routing by prefix."""

from __future__ import annotations

import random
import statistics
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import NamedTuple

from bench.agents_on_vllm import AGENTS, ANSWER_TOKENS, MODEL, POOL_BLOCKS, STEP_TOKENS, agents
from bench.harness import Result, UnavailableError
from bench.kernel_vs_vllm import VLLM_PYTHON
from scripts.fleet.local import CACHEWISE, Fleet
from scripts.fleet.router import ROUTER_PYTHON, Policy
from scripts.fleet.sessions import Answer, Turn, ask

TARGET = "> 1×, with fewer evictions and a higher hit rate"
ROUNDS = 3
REPLICAS = 2
STOCK: Policy = "round_robin"
BY_PREFIX: Policy = "cache_aware"
POLICIES: tuple[Policy, ...] = (STOCK, BY_PREFIX, "consistent_hash", "sticky_least_loaded")
TOKEN = "token-of-the-fleet-bench"  # noqa: S105 - of servers on loopback that this bench starts and ends
_runs = count()


class Run(NamedTuple):
    """All agents until the last has ended. ``completion_s``: mean of an agent's summed latencies."""

    completion_s: float
    longest_request_s: float
    hit_rate: float
    evicted_blocks: int
    busiest_share: float  # of the requests, at the replica that answered most


def play(fleet: Fleet, policy: Policy, seed: int) -> Run:
    """All agents at once; caches are empty, and the router knows nothing. ``ValueError`` if one fails."""
    from keepwarm.hints import HintClient

    router = fleet.route(policy)
    fleet.empty_caches()
    before = _counts(fleet)
    run = next(_runs)
    names = [f"agent {run}.{number}" for number in range(AGENTS)]
    answers: list[list[Answer]] = [[] for _ in names]

    def work(number: int, prompts: Sequence[list[int]], gaps_s: Sequence[float]) -> None:
        for prompt, gap_s in zip(prompts, gaps_s, strict=True):
            turn = Turn(names[number], prompt, ANSWER_TOKENS)
            answers[number].append(ask(router.base_url, turn, patience_s=600))
            time.sleep(gap_s)

    threads = [
        threading.Thread(target=work, args=(number, *agent)) for number, agent in enumerate(agents(seed))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    failed = [answer for mine in answers for answer in mine if answer.status != 200]
    if failed:
        raise ValueError(f"an agent failed: {failed[0]!r}")
    asked, hits, evicted = (later - earlier for later, earlier in zip(_counts(fleet), before, strict=True))
    with HintClient(fleet.control_urls, TOKEN) as hints:  # the next run finds nobody of this one
        for name in names:
            hints.finished(name)
    replicas = [answer.replica for mine in answers for answer in mine]
    return Run(
        statistics.mean(sum(answer.took_s for answer in mine) for mine in answers),
        max(answer.took_s for mine in answers for answer in mine),
        hits / asked,
        round(evicted),
        max(replicas.count(replica) for replica in set(replicas)) / len(replicas),
    )


def _counts(fleet: Fleet) -> tuple[float, float, float]:
    """Prompt tokens asked, hit, and blocks evicted, of all replicas."""
    time.sleep(1.0)  # counts are shown a little late
    pages = [fleet.counts(number) for number in range(REPLICAS)]
    return (
        sum(page.total("vllm:prefix_cache_queries_total") for page in pages),
        sum(page.total("vllm:prefix_cache_hits_total") for page in pages),
        sum(
            page.total(r"\w+_evicted_blocks_total", **{"class": kind})
            for page in pages
            for kind in ("hit", "never_hit")
        ),
    )


def _ratio(above: Sequence[float], below: Sequence[float]) -> float:
    """The median of the rounds' ratios."""
    return round(statistics.median(a / b for a, b in zip(above, below, strict=True)), 2)


def run() -> Result:
    """SmolLM2 on CPUs, both servers up all the time, runs of the same agents in turns; ratios of the rounds.

    Each replica runs CacheWise (``active-set``), and both share the machine's cores. Agents name their
    session in the header that routers read. It fails if a request failed.
    """
    from keepwarm.canary.servers.local import cpu_options

    if not VLLM_PYTHON.exists() or not (MODEL / "config.json").exists() or not ROUTER_PYTHON.exists():
        raise UnavailableError(
            f"no vLLM at {str(VLLM_PYTHON)!r}, no model at {str(MODEL)!r}, or no router at "
            f"{str(ROUTER_PYTHON)!r}"
        )
    runs: dict[Policy, list[Run]] = {policy: [] for policy in POLICIES}
    rng = random.Random(0)
    arguments = ("--max-num-batched-tokens", str(STEP_TOKENS))
    options = cpu_options(str(MODEL), python=str(VLLM_PYTHON), pool_blocks=POOL_BLOCKS, arguments=arguments)
    with (
        tempfile.TemporaryDirectory() as logs,
        Fleet(options, CACHEWISE, REPLICAS, Path(logs), token=TOKEN) as fleet,
    ):
        for seed in range(ROUNDS):
            for policy in rng.sample(POLICIES, len(POLICIES)):
                runs[policy].append(play(fleet, policy, seed))
    return result(runs)


def result(runs: Mapping[Policy, list[Run]]) -> Result:
    """Medians over the rounds: times as round robin's ÷ the policy's, evictions as a share of its."""
    stock = runs[STOCK]
    times = {policy: [one.completion_s for one in done] for policy, done in runs.items()}
    detail: dict[str, object] = {"replicas": REPLICAS, "agents": AGENTS, "rounds": len(stock)}
    for policy, done in runs.items():
        detail[f"{policy} hit_rate"] = round(statistics.median(one.hit_rate for one in done), 3)
        detail[f"{policy} busiest_share"] = round(statistics.median(one.busiest_share for one in done), 2)
        if policy == STOCK:
            continue
        detail[f"{policy} completion_ratio"] = _ratio(times[STOCK], times[policy])
        detail[f"{policy} longest_request_ratio"] = _ratio(
            [one.longest_request_s for one in stock], [one.longest_request_s for one in done]
        )
        detail[f"{policy} evicted_share"] = _ratio(
            [one.evicted_blocks for one in done], [max(one.evicted_blocks, 1) for one in stock]
        )
    ratios = sorted(s / o for s, o in zip(times[STOCK], times[BY_PREFIX], strict=True))
    detail[f"{BY_PREFIX} ratios"] = " ".join(f"{ratio:.2f}" for ratio in ratios)
    return Result("fleet-on-vllm", _ratio(times[STOCK], times[BY_PREFIX]), "×", detail)
