"""Which runs there are: M = 763 thousand tokens on two H200 with a 32B model, unless they say otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import msgspec

CAPACITY_TOKENS = 763_000
STEP_TOKENS = 512
SEEDS = tuple(range(5))
NO_BOUND = 1e9

BASELINE = ("fcfs", "lru")
RULES = (
    BASELINE,
    ("fcfs", "tool-mean"),
    ("fcfs", "ttl"),
    ("cachewise", "lru"),
    ("fcfs", "cachewise"),
    ("cachewise", "cachewise"),
    ("cachewise", "oracle"),
    ("active-set", "lru"),
    ("active-set", "cachewise"),
    ("active-set", "oracle"),
)
ANSWERS = (100, 1)
FRONT = (0.5, 1.5, 2.0, 3.0, NO_BOUND)
LEADING = (
    BASELINE,
    ("cachewise", "lru"),
    ("cachewise", "cachewise"),
    ("active-set", "lru"),
    ("active-set", "cachewise"),
    ("active-set", "oracle"),
)


class Run(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One run; the defaults are the setting of the published figures.

    ``gaps``: drawn with their commands, or as recorded. ``ladder``: how far the predictor's goes, ``all``,
    ``tool``, or clusters up to so many. ``gamma`` is the bound of active-set, None for its own.
    ``costs``: ``flat`` leaves out attention, so that a prompt token costs the same at any depth.
    ``answer_tokens``: longer answers are cut to so many, None for as recorded.
    """

    scheduling: str
    eviction: str
    sessions: int
    seed: int
    population: str = "together"
    step_tokens: int = STEP_TOKENS
    capacity_tokens: int = CAPACITY_TOKENS
    gap_scale: float = 1.0
    gaps: str = "drawn"
    ladder: str = "C50"
    n_rebuild: int = 3
    host_memory_gib: float = 0.0
    gamma: float | None = None
    costs: str = "roofline"
    answer_tokens: int | None = None


def _runs(
    rules: Sequence[tuple[str, str]], sessions: Sequence[int], seeds: Sequence[int] = SEEDS, **setting: object
) -> Iterator[Run]:
    for count, seed, (scheduling, eviction) in product(sessions, seeds, rules):
        yield Run(scheduling=scheduling, eviction=eviction, sessions=count, seed=seed, **setting)  # type: ignore[arg-type]


def _grid() -> Iterator[Run]:
    yield from _runs(RULES, (30, 40))
    yield from _runs(RULES, (5, 10, 20))
    yield from _runs(RULES, (50, 60), SEEDS[:3])


def _factors() -> Iterator[Run]:
    yield from _runs(LEADING, (30, 40), SEEDS[:3], gap_scale=8.0)
    yield from _runs(LEADING, (30, 40), SEEDS[:3], population="constant")
    yield from _runs(LEADING, (30, 40), SEEDS[:3], costs="flat")
    for setting in ({"step_tokens": 2_048}, {"step_tokens": 8_192}, {"gap_scale": 4.0}):
        yield from _runs(LEADING, (40,), SEEDS[:3], **setting)
    yield from _runs([rule for rule in LEADING if rule[1] != "cachewise"], (40,), SEEDS[:3], gaps="recorded")


def _answers() -> Iterator[Run]:
    rules = [BASELINE, ("cachewise", "lru"), ("active-set", "lru")]
    for answer_tokens in ANSWERS:
        yield from _runs(rules, (30, 40), SEEDS[:3], answer_tokens=answer_tokens)


def _front() -> Iterator[Run]:
    for gamma in FRONT:
        yield from _runs([("active-set", "lru")], (30, 40), SEEDS[:3], gamma=gamma)


def _ablations() -> Iterator[Run]:
    for ladder in ("all", "tool", "C20", "C100"):
        yield from _runs([("active-set", "cachewise")], (40,), SEEDS[:3], ladder=ladder, gap_scale=8.0)
    for n_rebuild in (1, 30, 300):
        yield from _runs([("cachewise", "cachewise")], (40,), SEEDS[:3], n_rebuild=n_rebuild)
    for capacity_tokens in (380_000, 1_526_000):
        rules = [BASELINE, ("cachewise", "lru"), ("active-set", "lru")]
        yield from _runs(rules, (40,), SEEDS[:3], capacity_tokens=capacity_tokens)
    for gib in (512.0, 2_048.0):
        rules = [BASELINE, ("cachewise", "lru"), ("active-set", "lru")]
        yield from _runs(rules, (40,), SEEDS[:3], host_memory_gib=gib)


GROUPS = {"grid": _grid, "factors": _factors, "answers": _answers, "front": _front, "ablations": _ablations}


def plan(groups: Sequence[str]) -> list[Run]:
    """The runs of these groups, each once."""
    return list(dict.fromkeys(run for group in groups for run in GROUPS[group]()))


def baseline_of(run: Run) -> Run:
    """FCFS with LRU in the same setting, with all that it does not depend on as by default."""
    return Run(
        scheduling=BASELINE[0],
        eviction=BASELINE[1],
        sessions=run.sessions,
        seed=run.seed,
        population=run.population,
        step_tokens=run.step_tokens,
        capacity_tokens=run.capacity_tokens,
        gap_scale=run.gap_scale,
        gaps=run.gaps,
        host_memory_gib=run.host_memory_gib,
        costs=run.costs,
        answer_tokens=run.answer_tokens,
    )
