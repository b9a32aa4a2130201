"""Make ``trace.json``: invented traffic of coding agents beside prompts of one use, small enough to read.

    python -m tests.policies.golden.make

Agents take turns on one server. An agent's prompt is a system text it shares with others of its kind,
a repository it shares with a few, and all that it said before; each call adds a tool's output. Between
calls it pauses, some for long. Batches of prompts that share a short text only, and never come again,
flood the cache from time to time. Only ``random.random`` is drawn from: it gives the same numbers in all
versions of Python.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import NamedTuple, TypedDict

HERE = Path(__file__).parent
SEED = 20
BLOCK_SIZE = 16
REQUESTS = 400
KINDS = 3
REPOSITORIES = 8
AGENTS = 14


class Recorded(TypedDict):
    """One request. ``ids`` are its known full blocks; an id stands for a whole prefix, 0 the first seen."""

    ids: list[int]
    prompt_tokens: int
    output_tokens: int


class Agent(NamedTuple):
    """What its next prompt is made of, one text a block."""

    contents: list[str]
    calls_left: int


def main() -> None:
    """Write the trace, one request a line."""
    (HERE / "trace.json").write_text(text_of(make()), encoding="utf-8")


def make() -> list[Recorded]:
    """All requests in the order in which they are served."""
    rng = random.Random(SEED)
    numbers: dict[tuple[str, ...], int] = {}
    agents: list[Agent] = []
    requests: list[Recorded] = []
    while len(requests) < REQUESTS:
        if rng.random() < 0.03:
            flood = below(rng, 12) + 4
            requests += [one_use(rng, numbers, f"batch {len(requests)}.{i}") for i in range(flood)]
            continue
        while len(agents) < AGENTS:
            agents.append(new_agent(rng))
        turn = int(AGENTS * rng.random() ** 2)  # the first ones are busy, the last ones pause for long
        agent = agents.pop(turn)
        requests.append(call(rng, numbers, agent, name=f"call {len(requests)}"))
        if agent.calls_left > 1:
            agents.insert(below(rng, AGENTS), agent._replace(calls_left=agent.calls_left - 1))
    return requests[:REQUESTS]


def new_agent(rng: random.Random) -> Agent:
    kind = int(KINDS * rng.random() ** 2)
    repository = int(REPOSITORIES * rng.random() ** 2)
    system = [f"system {kind} {i}" for i in range(4 + 3 * kind)]
    return Agent([*system, *(f"repository {repository} {i}" for i in range(4))], 2 + below(rng, 14))


def call(rng: random.Random, numbers: dict[tuple[str, ...], int], agent: Agent, name: str) -> Recorded:
    """One call; its prompt's new part and its answer become part of the next one's."""
    agent.contents.extend(f"{name} tool {i}" for i in range(below(rng, 4)))
    prompt_tokens = len(agent.contents) * BLOCK_SIZE + below(rng, BLOCK_SIZE)
    answer_tokens = below(rng, 4 * BLOCK_SIZE)
    prompt_blocks = len(agent.contents)
    agent.contents.extend(f"{name} answer {i}" for i in range(1 + answer_tokens // BLOCK_SIZE))
    known = agent.contents if rng.random() < 0.5 else agent.contents[:prompt_blocks]
    return Recorded(ids=ids_of(numbers, known), prompt_tokens=prompt_tokens, output_tokens=answer_tokens)


def one_use(rng: random.Random, numbers: dict[tuple[str, ...], int], name: str) -> Recorded:
    """A prompt behind a short instruction that the whole batch shares."""
    contents = ["instruction 0", "instruction 1", *(f"{name} {i}" for i in range(8 + below(rng, 12)))]
    tokens = len(contents) * BLOCK_SIZE + below(rng, BLOCK_SIZE)
    return Recorded(ids=ids_of(numbers, contents), prompt_tokens=tokens, output_tokens=below(rng, BLOCK_SIZE))


def ids_of(numbers: dict[tuple[str, ...], int], contents: list[str]) -> list[int]:
    prefixes = (tuple(contents[: i + 1]) for i in range(len(contents)))
    return [numbers.setdefault(prefix, len(numbers)) for prefix in prefixes]


def below(rng: random.Random, limit: int) -> int:
    return int(limit * rng.random())


def text_of(requests: list[Recorded]) -> str:
    """JSON, one request a line."""
    lines = ",\n".join(json.dumps(request, separators=(",", ":")) for request in requests)
    return f"[\n{lines}\n]\n"


if __name__ == "__main__":
    main()
