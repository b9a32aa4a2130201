"""Which runs there are, most telling first: N sessions a replica on the servers of docs/cachewise.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import msgspec

LOAD_BOUND = 1.25

BASELINE = ("fcfs", "lru")
CACHEWISE = ("cachewise", "cachewise")
ACTIVE_SET = ("active-set", "cachewise")
RULES = (BASELINE, CACHEWISE, ACTIVE_SET)
BALANCERS = ("round-robin", "least-loaded", "sticky", "longest-prefix", "prefix-bounded")
LEADING = ("sticky", "prefix-bounded", "round-robin")
REPLICAS = (1, 2, 4, 8, 16, 32, 64)
SESSIONS = (30, 40)
SEEDS = tuple(range(8))
BOUNDS = (1.0, 1.1, LOAD_BOUND, 1.5, 2.0, 4.0)
BOUND_REPLICAS = 4


class Run(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One run. ``sessions`` are those of each replica; ``balancer`` is empty for one, which has no choice."""

    replicas: int
    balancer: str
    scheduling: str
    eviction: str
    sessions: int
    seed: int
    load_bound: float = LOAD_BOUND


def run_of(
    balancer: str,
    replicas: int,
    rule: tuple[str, str],
    sessions: int,
    seed: int,
    load_bound: float = LOAD_BOUND,
) -> Run:
    """The run that stands for these settings; what a run does not depend on is left out of it."""
    return Run(
        replicas=replicas,
        balancer="" if replicas == 1 else balancer,
        scheduling=rule[0],
        eviction=rule[1],
        sessions=sessions,
        seed=seed,
        load_bound=load_bound if balancer == "prefix-bounded" and replicas > 1 else LOAD_BOUND,
    )


def _runs(
    replicas: Sequence[int],
    balancers: Sequence[str] = BALANCERS,
    *,
    rules: Sequence[tuple[str, str]] = RULES,
    sessions: int = SESSIONS[0],
    seeds: Sequence[int] = SEEDS[:1],
) -> Iterator[Run]:
    for seed, count, balancer, rule in product(seeds, replicas, balancers, rules):
        yield run_of(balancer, count, rule, sessions, seed)


def _one() -> Iterator[Run]:
    for sessions in SESSIONS:
        yield from _runs((1,), sessions=sessions, seeds=SEEDS)


def _spans() -> Iterator[Run]:
    yield from _runs((4,), rules=RULES[:2])
    yield from _runs((16,), LEADING, rules=RULES[:2])


def _bound() -> Iterator[Run]:
    for bound, rule in product(BOUNDS, RULES[:2]):
        yield run_of("prefix-bounded", BOUND_REPLICAS, rule, SESSIONS[0], 0, bound)


def _large() -> Iterator[Run]:
    yield from _runs((64,), LEADING, rules=RULES[:2])
    yield from _runs((16,), rules=RULES[:2])


def _between() -> Iterator[Run]:
    yield from _runs((2, 8), rules=RULES[:2])
    yield from _runs((4, 16), LEADING, rules=RULES[2:])
    yield from _runs((32,), LEADING, rules=RULES[:2])


def _forty() -> Iterator[Run]:
    yield from _runs((4, 16), LEADING, rules=RULES[:2], sessions=SESSIONS[1])


def _seeds() -> Iterator[Run]:
    yield from _runs((2, 4, 8, 16), rules=RULES[:2], seeds=SEEDS[1:3])


def _rest() -> Iterator[Run]:
    yield from _runs(REPLICAS[1:])


GROUPS = {
    "one": _one,
    "spans": _spans,
    "bound": _bound,
    "large": _large,
    "between": _between,
    "forty": _forty,
    "seeds": _seeds,
    "rest": _rest,
}


def plan(groups: Sequence[str]) -> list[Run]:
    """The runs of these groups in their order, each once."""
    return list(dict.fromkeys(run for group in groups for run in GROUPS[group]()))
