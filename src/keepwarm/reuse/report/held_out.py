"""Fit on some tasks, judge on the others, several times over."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from random import Random
from typing import NamedTuple

import msgspec

from keepwarm._errors import InputError
from keepwarm.reuse.calls import ToolCall
from keepwarm.reuse.durations.base import ToolDuration
from keepwarm.reuse.fit import FitOptions, fit
from keepwarm.reuse.predictor import ReuseModel
from keepwarm.reuse.report.metrics import (
    MATTERS_S,
    Moment,
    Rule,
    as_found,
    at_start,
    choice_regret_s,
    order_accuracy,
    ranks,
)

_PAIRS = 20_000
_DRAWS = 4_000
_FOUND = 2_000  # moments at which an eviction finds a call


class SplitOptions(NamedTuple):
    """How the report divides tasks; ``held_out`` is the share of them that is judged on."""

    clusters: tuple[int, ...] = (20, 50, 100)
    splits: int = 10
    held_out: float = 0.3
    idle_sessions: int = 8  # to choose one of
    seed: int = 0


class Interval(msgspec.Struct, frozen=True):
    """Mean over splits, and between what the middle 95% of splits lie."""

    mean: float
    low: float
    high: float


class Row(msgspec.Struct, frozen=True):
    """One rule: a step of the ladder, or what one would do without it."""

    step: str
    clusters: float | None  # that the data carried, mean over splits; None where there are none to carry
    order_any: Interval  # as they start, pairs that differ at all
    order_start: Interval  # as they start, pairs that differ by more than a second
    order_found: Interval  # as an eviction finds them, pairs that differ by more than a second
    regret_start_s: Interval
    regret_found_s: Interval


class Figures(NamedTuple):
    """One rule on one split; the fields of ``Row``."""

    order_any: float
    order_start: float
    order_found: float
    regret_start_s: float
    regret_found_s: float


class _Trial:
    """Calls at their moments, and the pairs and draws of them that every rule is judged on."""

    def __init__(self, held_out: Sequence[Moment], idle_sessions: int, random: Random) -> None:
        self.moments = held_out
        among = range(len(held_out))
        self._pairs = [_pair(random.sample(among, 2)) for _ in range(_PAIRS)] if len(among) > 1 else []
        self._draws = [random.sample(among, min(idle_sessions, len(among))) for _ in range(_DRAWS)]

    def order(self, ranks: Sequence[float], gap_s: float) -> float:
        accuracy = order_accuracy(ranks, self.moments, self._pairs, gap_s)
        return 0.5 if accuracy is None else accuracy

    def regret_s(self, ranks: Sequence[float] | None) -> float:
        return choice_regret_s(ranks, self.moments, self._draws) if self.moments else 0.0


class _Judge:
    """The two moments at which rules are judged on the held-out calls."""

    def __init__(self, held_out: Sequence[ToolDuration], options: SplitOptions, random: Random) -> None:
        self._start = _Trial(at_start(held_out), options.idle_sessions, random)
        self._found = _Trial(as_found(held_out, _FOUND, random), options.idle_sessions, random)

    def figures(self, rule: Rule) -> Figures:
        """Of one rule."""
        start = ranks(rule, self._start.moments)
        found = ranks(rule, self._found.moments)
        return Figures(
            order_any=self._start.order(start, 0.0),
            order_start=self._start.order(start, MATTERS_S),
            order_found=self._found.order(found, MATTERS_S),
            regret_start_s=self._start.regret_s(start),
            regret_found_s=self._found.regret_s(found),
        )

    def chance(self) -> Figures:
        """Of choosing at random."""
        return Figures(0.5, 0.5, 0.5, self._start.regret_s(None), self._found.regret_s(None))


def held_out_rows(durations: Sequence[ToolDuration], options: SplitOptions) -> tuple[Row, ...]:
    """A row for each rule: at random, longest idle first, all calls, the tool, and clusters of arguments.

    Raises:
        InputError: fewer than two tasks, too few durations to fit, or no scikit-learn.
    """
    results: dict[str, list[Figures]] = {}
    carried: dict[str, list[int]] = {}
    for number in range(options.splits):
        random = Random(f"{options.seed}/{number}")  # noqa: S311 - splits, no secrets
        train, test = split_by_task(durations, options.held_out, random)
        judge = _Judge(test, options, random)
        results.setdefault("random", []).append(judge.chance())
        results.setdefault("longest-idle", []).append(judge.figures(_longest_idle))
        model = fit(train, FitOptions(clusters=0, seed=options.seed))
        for step, rule in _plain_steps(model):
            results.setdefault(step, []).append(judge.figures(rule))
        for most in options.clusters:
            model = fit(train, FitOptions(clusters=most, seed=options.seed))
            results.setdefault(f"C{most}", []).append(judge.figures(model.remaining_s))
            carried.setdefault(f"C{most}", []).append(_clusters(model))
    return tuple(
        _row(step, figures, _mean(carried[step]) if step in carried else None)
        for step, figures in results.items()
    )


def model_rows(
    model: ReuseModel, durations: Sequence[ToolDuration], options: SplitOptions
) -> tuple[Row, ...]:
    """The same of a model that is given, on calls that it must not have been fitted on."""
    random = Random(f"{options.seed}/model")  # noqa: S311 - pairs, no secrets
    judge = _Judge(durations, options, random)
    rules = [("longest-idle", _longest_idle), *_plain_steps(model), ("clusters", model.remaining_s)]
    rows = [_row("random", [judge.chance()], None)]
    for step, rule in rules:
        carried = float(_clusters(model)) if step == "clusters" else None
        rows.append(_row(step, [judge.figures(rule)], carried))
    return tuple(rows)


def split_by_task(
    durations: Sequence[ToolDuration], share: float, random: Random
) -> tuple[list[ToolDuration], list[ToolDuration]]:
    """Durations to fit on, and those of the tasks that are held out: at least one task on either side.

    Raises:
        InputError: there is one task only.
    """
    tasks = sorted({duration.task for duration in durations})
    if len(tasks) < 2:
        raise InputError("the durations are of one task, so none can be held out; name more transcripts")
    random.shuffle(tasks)
    held_out = set(tasks[: min(max(round(share * len(tasks)), 1), len(tasks) - 1)])
    return (
        [duration for duration in durations if duration.task not in held_out],
        [duration for duration in durations if duration.task in held_out],
    )


def _plain_steps(model: ReuseModel) -> list[tuple[str, Rule]]:
    def by_tool(call: ToolCall, elapsed_s: float) -> float | None:
        said = (curve.remaining_s(elapsed_s) for curve in model.ladder(call)[-2:])
        return next((left_s for left_s in said if left_s is not None), None)

    return [("global", lambda _, elapsed_s: model.curve.remaining_s(elapsed_s)), ("tool", by_tool)]


def _longest_idle(call: ToolCall, elapsed_s: float) -> None:
    del call, elapsed_s  # unknown: the longest idle goes first


def _clusters(model: ReuseModel) -> int:
    return sum(len(tool.clusters) for tool in model.tools.values())


def _pair(sampled: list[int]) -> tuple[int, int]:
    return sampled[0], sampled[1]


def _row(step: str, figures: Sequence[Figures], clusters: float | None) -> Row:
    columns = {name: _interval([getattr(f, name) for f in figures]) for name in Figures._fields}
    return Row(step=step, clusters=clusters, **columns)


def _interval(values: Sequence[float]) -> Interval:
    ordered = sorted(values)
    return Interval(_mean(ordered), _quantile(ordered, 0.025), _quantile(ordered, 0.975))


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return math.fsum(listed) / len(listed)


def _quantile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])
