"""Small workloads and the two ways to run them: step by step, and gliding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from hypothesis import strategies as st

from keepwarm.cache.pool import BlockPool
from keepwarm.policies import POLICIES
from keepwarm.policies.base import BlockHash, VictimOrder
from keepwarm.policies.cachewise import CacheWise
from keepwarm.policies.lru import Lru
from keepwarm.policies.sessions import SessionId
from keepwarm.reuse.calls import ToolCall
from keepwarm.reuse.estimators.oracle import Oracle
from keepwarm.scheduling.base import QueueOrder
from keepwarm.scheduling.orders import ORDERS
from keepwarm.scheduling.sessions import SessionTable
from keepwarm.serving.base import ServerConfig
from keepwarm.serving.clients import Clients
from keepwarm.serving.costs import Coefficients
from keepwarm.serving.engine import Engine
from keepwarm.serving.glide import Glide, GlidingEngine
from keepwarm.serving.ledger import Ledger
from keepwarm.serving.loop import Loop
from keepwarm.serving.pool import ServingPool
from keepwarm.serving.population import Cast
from keepwarm.workload.base import SessionTrace, Trigger, Turn

BLOCK = 4
EVICTIONS = ("lru", "computecache", "cachewise")
COSTS = Coefficients(token_s=0.01, pair_s=0.001, weights_s=0.03, context_s=0.002, overhead_s=0.005)


def turn(
    prompt: int,
    output: int = 1,
    blocks: Sequence[int] = (),
    gap_s: float = 0.0,
    trigger: Trigger = Trigger.TOOL,
) -> Turn:
    return Turn(
        prompt, output, [BlockHash(block) for block in blocks], gap_s, trigger, ToolCall("bash", "ls")
    )


def session(name: str, *turns: Turn) -> SessionTrace:
    return SessionTrace(SessionId(name), 0.0, turns)


@st.composite
def sessions(draw: st.DrawFn, most_blocks: int) -> list[SessionTrace]:
    """A few sessions whose contexts grow, are cut back, and share what they begin with."""
    shared = draw(st.sampled_from([0, 2, most_blocks - 4]))
    made = []
    for number in range(draw(st.integers(1, 5))):
        context, fresh, turns = list(range(shared)), 1000 * (number + 1), []
        for _ in range(draw(st.integers(1, 4))):
            context = context[: draw(st.integers(min(shared, len(context)), len(context)))]
            more = draw(st.integers(0, max(0, most_blocks - len(context) - 3)))
            context = [*context, *range(fresh, fresh + more)]
            fresh += more
            prompt = len(context) * BLOCK + draw(st.integers(0 if context else 1, BLOCK - 1))
            gap_s = draw(st.sampled_from([0.0, 0.05, 0.3, 2.0]))
            trigger = draw(st.sampled_from(Trigger))
            turns.append(turn(prompt, draw(st.integers(1, 2 * BLOCK)), context, gap_s, trigger))
        made.append(session(f"s{number}", *turns))
    return made


class Stepped(Engine):
    """The engine that is held to vLLM, where the loop expects one that glides."""

    probed_blocks = reloaded_blocks = 0

    def glide(self, now_s: float, until_s: float, costs: Coefficients) -> Glide:
        return Glide(0, now_s, 0)

    def take_reload_s(self) -> float:
        return 0.0


class PlainPool(BlockPool):
    """The reference pool."""

    recomputed_blocks = 0


class Told(NamedTuple):
    """Everything a policy was told and asked, in order, and the run it comes from."""

    events: list[tuple[str, Any]]
    ledger: Ledger
    loop: Loop
    free_order: list[int]
    rounds: int


def run(
    traces: Sequence[SessionTrace],
    config: ServerConfig,
    *,
    order: str | type[QueueOrder[Any]] = "fcfs",
    eviction: str = "lru",
    glides: bool = True,
    records: bool = True,
    costs: Coefficients = COSTS,
) -> Told:
    """All sessions from time 0, checked after every call of the engine.

    With ``records`` unset the policy is plain LRU, which hears nothing of growth.
    """
    gaps_s: dict[SessionId, float] = {}
    table = SessionTable(Oracle(gaps_s.get))
    events: list[tuple[str, Any]] = []
    policy: VictimOrder = Lru(config.capacity_blocks)
    if records:
        policy = _recording(eviction, config.capacity_blocks, table, events)
    pool = (ServingPool if glides else PlainPool)(config.capacity_blocks, policy)
    engine: Any = (GlidingEngine if glides else Stepped)(
        config, pool, ORDERS[order] if isinstance(order, str) else order, table
    )
    cast = Cast(traces, iter(()), range(len(traces)), 0)
    loop = Loop(engine, Clients(cast, 1.0), costs, cast.measured, gaps_s=gaps_s)
    before_s, rounds = 0.0, 0
    while loop.advance():
        rounds += 1
        pool.check_integrity(state.table for state in engine.running)
        assert loop.now_s >= before_s
        before_s = loop.now_s
    return Told(events, loop.run(), loop, pool.free_order(), rounds)


def _recording(name: str, capacity_blocks: int, table: SessionTable, events: list[Any]) -> VictimOrder:
    base: Any = CacheWise if name == "cachewise" else POLICIES[name]

    def told(method: str) -> Any:
        def call(self: Any, *args: Any, **keys: Any) -> Any:
            answer = getattr(base, method)(self, *args, **keys)
            events.append((method, (args, keys, answer)))
            return answer

        return call

    names = ["on_admit", "on_allocate", "on_cache", "on_free", "on_hit", "pop_victim", "on_evict"]
    if name == "cachewise":
        names += ["begin_step"]
    recording = type(f"Recording{base.__name__}", (base,), {method: told(method) for method in names})
    made: VictimOrder = recording(*((capacity_blocks, table) if name == "cachewise" else (capacity_blocks,)))
    return made
