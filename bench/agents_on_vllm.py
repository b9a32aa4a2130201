"""Eight coding agents on a real vLLM server whose cache holds three of them: stock against our orders."""

from __future__ import annotations

import os
import random
import re
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from bench.harness import Result, UnavailableError
from bench.kernel_vs_vllm import VLLM_PYTHON
from bench.traces import REPOSITORY

TARGET = "> 1×, with fewer evictions and a higher hit rate"
MODEL = Path(os.environ.get("KEEPWARM_SMOLLM2", REPOSITORY / "build/models/smollm2"))
ROUNDS = 3
AGENTS, TURNS = 8, 4
SHARED_TOKENS, FIRST_TOKENS, TURN_TOKENS, ANSWER_TOKENS = 32, 640, 64, 2
POOL_BLOCKS = 180  # 179 usable ones; an agent's context takes 55 in the end
STEP_TOKENS = 256
MODEL_TOKENS = 20_000  # ids below that are ordinary words of SmolLM2
TOKEN = "token-of-the-agents-bench"  # noqa: S105 - of servers on loopback that this bench starts and ends
OURS = {"KEEPWARM_EVICTION": "cachewise", "KEEPWARM_CONTROL_PORT": "0", "KEEPWARM_CONTROL_TOKEN": TOKEN}
SIDES: dict[str, Mapping[str, str]] = {
    "stock": {"COMPUTECACHE_MODE": "lru"},  # stock order and stock LRU, counted
    "cachewise": {"KEEPWARM_SCHEDULING": "cachewise", **OURS},
    "active-set": {"KEEPWARM_SCHEDULING": "active-set", **OURS},
}
_runs = count()


class Agent(NamedTuple):
    """What one agent sends: the prompt of each turn, and how long its tool takes before the next."""

    prompts: list[list[int]]
    gaps_s: list[float]


class Run(NamedTuple):
    """All agents until the last has ended. ``completion_s``: mean of an agent's summed latencies."""

    completion_s: float
    longest_request_s: float
    makespan_s: float
    hit_rate: float
    evicted_blocks: int


def agents(seed: int) -> list[Agent]:
    """Of one run: contexts that grow, and tools that take 0.05 s to some seconds."""
    rng = random.Random(seed)
    shared = rng.choices(range(100, MODEL_TOKENS), k=SHARED_TOKENS)
    made = []
    for _ in range(AGENTS):
        context = shared + rng.choices(range(100, MODEL_TOKENS), k=FIRST_TOKENS)
        prompts = []
        for _ in range(TURNS):
            prompts.append(context)
            context = context + rng.choices(range(100, MODEL_TOKENS), k=TURN_TOKENS)
        made.append(Agent(prompts, [min(4.0, rng.lognormvariate(-1.2, 1.0)) for _ in range(TURNS)]))
    return made


def play(url: str, seed: int, names: list[str]) -> Run:
    """All agents at once against a server whose cache is emptied first; ``ValueError`` if one fails.

    ``names`` are the ids of their sessions.
    """
    import httpx2

    with httpx2.Client(base_url=url, timeout=600, trust_env=False) as client:
        _reset(client)
        before = _counts(client)
        latencies_s: list[list[float]] = [[] for _ in range(AGENTS)]
        failures: list[BaseException] = []

        def work(number: int, agent: Agent) -> None:
            try:
                for prompt, gap_s in zip(agent.prompts, agent.gaps_s, strict=True):
                    latencies_s[number].append(_ask(client, prompt, names[number]))
                    time.sleep(gap_s)
            except BaseException as failure:  # noqa: BLE001 - raised again where it is looked for
                failures.append(failure)

        started_s = time.monotonic()
        threads = [threading.Thread(target=work, args=(at, agent)) for at, agent in enumerate(agents(seed))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise ValueError(f"an agent failed: {failures[0]!r}")
        took_s = time.monotonic() - started_s
        after = _counts(client)
    asked = after["queries"] - before["queries"]
    return Run(
        statistics.mean(map(sum, latencies_s)),
        max(map(max, latencies_s)),
        took_s,
        (after["hits"] - before["hits"]) / asked,
        round(after["evicted"] - before["evicted"]),
    )


def _ask(client: Any, prompt: list[int], session: str) -> float:
    body = {
        "model": "model",
        "prompt": prompt,
        "max_tokens": ANSWER_TOKENS,
        "ignore_eos": True,
        "temperature": 0,
        "session_id": session,
    }
    started_s = time.monotonic()
    answer = client.post("/v1/completions", json=body)
    took_s = time.monotonic() - started_s
    if answer.status_code != 200:
        raise ValueError(f"the server answered {answer.status_code}: {answer.text[:200]!r}")
    return took_s


def _reset(client: Any) -> None:
    answer = client.post("/reset_prefix_cache")
    if answer.status_code != 200 or "false" in answer.text.lower():
        raise ValueError(f"the cache was not emptied: {answer.text!r}")


def _counts(client: Any) -> dict[str, float]:
    time.sleep(1.0)  # counts are shown a little late
    text = client.get("/metrics").text
    return {
        "queries": _sum(text, r"vllm:prefix_cache_queries_total"),
        "hits": _sum(text, r"vllm:prefix_cache_hits_total"),
        "evicted": _sum(text, r'\w+_evicted_blocks_total\{class="(?:never_)?hit"'),
    }


def _sum(text: str, name: str) -> float:
    return sum(float(value) for value in re.findall(rf"^{name}.* ([\d.e+]+)$", text, re.MULTILINE))


@contextmanager
def servers(sides: Mapping[str, Mapping[str, str]]) -> Iterator[dict[str, Callable[[int], Run]]]:
    """All sides at once, each idle while another is asked. Calling one plays a run of that seed."""
    from keepwarm.canary.servers.local import LocalServer, cpu_options
    from keepwarm.hints import HintClient

    arguments = ("--served-model-name", "model", "--max-num-batched-tokens", str(STEP_TOKENS))
    options = cpu_options(str(MODEL), python=str(VLLM_PYTHON), pool_blocks=POOL_BLOCKS, arguments=arguments)
    with ExitStack() as stack:
        logs = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        players: dict[str, Callable[[int], Run]] = {}
        for name, settings in sides.items():
            server = stack.enter_context(LocalServer(options, logs / name))
            server.start(settings)
            found = re.search(r"hints are taken at (http://127\.0\.0\.1:\d+)/", server.log_tail(2_000))
            hints = stack.enter_context(HintClient(found[1], TOKEN)) if found else None

            def player(seed: int, url: str = server.base_url, hints: HintClient | None = hints) -> Run:
                run = next(_runs)
                names = [f"agent {run}.{number}" for number in range(AGENTS)]
                done = play(url, seed, names)
                if hints is not None:  # the next run finds nobody of this one
                    for name in names:
                        hints.finished(name)
                return done

            players[name] = player
        yield players


def _medians(done: list[Run]) -> dict[str, float]:
    median = statistics.median
    return {
        "completion_s": median(one.completion_s for one in done),
        "longest_request_s": median(one.longest_request_s for one in done),
        "makespan_s": median(one.makespan_s for one in done),
        "hit_rate": median(one.hit_rate for one in done),
        "evicted_blocks": median(one.evicted_blocks for one in done),
    }


def run() -> Result:
    """SmolLM2 on CPUs, all servers up, runs of the same agents in turns; medians of the rounds' ratios.

    Nobody tells the servers anything while a run lasts. It fails if a request failed.
    """
    if not VLLM_PYTHON.exists() or not (MODEL / "config.json").exists():
        raise UnavailableError(f"no vLLM at {str(VLLM_PYTHON)!r}, or no model at {str(MODEL)!r}")
    runs: dict[str, list[Run]] = {name: [] for name in SIDES}
    rng = random.Random(0)
    with servers(SIDES) as players:
        names = list(players)
        for seed in range(ROUNDS):
            rng.shuffle(names)
            for name in names:
                runs[name].append(players[name](seed))
    detail: dict[str, object] = {"agents": AGENTS, "turns": TURNS, "rounds": ROUNDS}
    for name, done in runs.items():
        for field, value in _medians(done).items():
            detail[f"{name} {field}"] = round(value, 3)
        if name != "stock":
            ratios = sorted(s.completion_s / o.completion_s for s, o in zip(runs["stock"], done, strict=True))
            detail[f"{name} ratios"] = " ".join(f"{ratio:.2f}" for ratio in ratios)
    ratios = [s.completion_s / o.completion_s for s, o in zip(runs["stock"], runs["active-set"], strict=True)]
    return Result("agents-on-vllm", round(statistics.median(ratios), 2), "×", detail)
