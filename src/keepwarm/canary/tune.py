"""The smallest scan limit that keeps the hot prefix within a TTFT budget, for each of the two rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import fmean
from typing import Any

import msgspec
import numpy as np

from keepwarm._errors import ServerError
from keepwarm._json import plain
from keepwarm.canary.acceptance import ACTIVE
from keepwarm.canary.checks import Check, check
from keepwarm.canary.options import SCAN_LIMIT, TtftBudget, TuneOptions, check_tuning
from keepwarm.canary.record import Model, model_of, now, record_from
from keepwarm.canary.rollback import LRU, Drill, drill
from keepwarm.canary.run import Say, first_line, take_baseline
from keepwarm.canary.runs import Instruments, Run, take_run
from keepwarm.canary.servers.base import ServerAdapter
from keepwarm.server.identity import Identity
from keepwarm.vllm.settings import MODE, RULE, SCAN_LIMITS, Rule

SCHEMA = "keepwarm.canary-tuning/1"
RULES: tuple[Rule, ...] = tuple(SCAN_LIMITS)
_STEADY = 1.2  # lru's own p95, before and after the trials, as one is to the other on a machine left alone


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """One rule with one scan limit. ``run`` is None if its server did not serve; ``fit`` is the verdict.

    ``protects``: the pressure run says so, in effect to the end, without fault. ``p95_ttft_s`` is over all
    one-use and hot requests, ``p95_ratio`` the same to lru's: the mean of its runs before and after.
    """

    rule: Rule
    scan_limit: int
    run: Run | None
    protects: bool
    p95_ttft_s: float | None
    p95_ratio: float | None
    within_budget: bool

    @property
    def fit(self) -> bool:
        """Whether this setting does what is wanted."""
        return self.protects and self.within_budget


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """The smallest limit that is fit, None if none is."""

    rule: Rule
    scan_limit: int | None


class TuningRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The document ``keepwarm.canary-tuning/1``. The server is stopped at the end: tuning accepts nothing.

    ``rollback_p95_ttft_s`` is lru's once more, after the trials; None if the server did not come back.
    """

    recorded_at: str
    model: Model
    identity: Identity
    options: TuneOptions
    baseline: Run
    baseline_p95_ttft_s: float
    rollback_p95_ttft_s: float | None = None
    trials: tuple[Trial, ...]
    choices: tuple[Choice, ...]
    drill: Drill

    @property
    def found(self) -> bool:
        """Whether any rule has a limit that is fit."""
        return any(choice.scan_limit is not None for choice in self.choices)

    @property
    def accepted(self) -> bool:
        """Whether there is something to recommend: a limit that is fit, and a rollback that worked."""
        return not self.reasons()

    def reasons(self) -> list[Check]:
        """The checks that refuse, the search's before the drill's."""
        found = check("fit", self.found, "some scan limit keeps the prefix within the budget")
        return [each for each in (found, self.steady(), *self.drill.checks) if each.refused]

    def steady(self) -> Check:
        """Whether the machine was as fast after the trials as before: else no ratio to lru means much."""
        before_s, after_s = self.baseline_p95_ttft_s, self.rollback_p95_ttft_s
        fine = after_s is None or before_s / _STEADY <= after_s <= before_s * _STEADY
        by_ratio = self.options.p95_ttft_budget.unit == "ratio"
        return check(
            "steady",
            fine or not by_ratio,
            "lru is as fast after the trials as before; if not, run again on a machine that nobody else uses",
            before_s=before_s,
            after_s=after_s,
        )


def run_tuning(
    adapter: ServerAdapter,
    options: TuneOptions,
    measure: Instruments,
    *,
    keep: Callable[[TuningRecord], None],
    say: Say,
) -> TuningRecord:
    """Baseline, every rule with every limit, each on a server just started, and the rollback drill.

    The drill rolls back from the last setting tried. The server is stopped at the end, whatever happens.

    Raises:
        ServerError: the baseline could not be taken.
        InputError: options that make no sense; whatever ``keep`` raises, too.
    """
    check_tuning(options)
    with adapter:
        say("baseline: a server with COMPUTECACHE_MODE=lru, under pressure")
        baseline = take_baseline(adapter, measure)
        identity = measure.identity(adapter.base_url)
        cells = [(rule, limit) for rule in RULES for limit in sorted(options.scan_limits)]
        runs = []
        for rule, limit in cells:
            say(f"rule {rule}, scan limit {limit}")
            runs.append(_try(adapter, settings_of(options.candidate, rule, limit), measure, say))
        say("rollback drill: the mode back at lru, restarted, under pressure")
        last = settings_of(options.candidate, *cells[-1])
        rollback = drill(adapter, last, baseline, measure, other_text=options.other_text)
        lru_p95s_s = [p95_ttft_s(run) for run in (baseline, rollback.run) if run is not None]
        trials = [
            judged(*cell, run, fmean(lru_p95s_s), options.p95_ttft_budget)
            for cell, run in zip(cells, runs, strict=True)
        ]
        record = TuningRecord(
            recorded_at=now(),
            model=model_of(baseline),
            identity=identity,
            options=options,
            baseline=baseline,
            baseline_p95_ttft_s=lru_p95s_s[0],
            rollback_p95_ttft_s=lru_p95s_s[1] if rollback.run is not None else None,
            trials=tuple(trials),
            choices=tuple(Choice(rule=rule, scan_limit=smallest(trials, rule)) for rule in RULES),
            drill=rollback,
        )
        keep(record)
        return record


def settings_of(candidate: Mapping[str, str], rule: Rule, scan_limit: int) -> dict[str, str]:
    """The environment of a trial."""
    return {**candidate, MODE: ACTIVE, RULE: rule, SCAN_LIMIT: str(scan_limit)}


def judged(rule: Rule, limit: int, run: Run | None, lru_p95_s: float, budget: TtftBudget) -> Trial:
    """A trial's figures and whether they are within the budget."""
    if run is None:
        return Trial(
            rule=rule,
            scan_limit=limit,
            run=None,
            protects=False,
            p95_ttft_s=None,
            p95_ratio=None,
            within_budget=False,
        )
    p95_s = p95_ttft_s(run)
    ratio = p95_s / lru_p95_s
    plugin = run.plugin
    in_effect = (plugin.mode, plugin.rule, plugin.scan_limit) == (ACTIVE, rule, limit)
    return Trial(
        rule=rule,
        scan_limit=limit,
        run=run,
        protects=run.pressure.hot_prefix_preserved and in_effect and not plugin.faults,
        p95_ttft_s=p95_s,
        p95_ratio=ratio,
        within_budget=(p95_s if budget.unit == "s" else ratio) <= budget.value,
    )


def smallest(trials: list[Trial], rule: Rule) -> int | None:
    """The smallest scan limit of ``rule`` that is fit."""
    return min((trial.scan_limit for trial in trials if trial.rule == rule and trial.fit), default=None)


def p95_ttft_s(run: Run) -> float:
    """Over every request that was answered, one-use and hot; linear between ranks. NaN if there is none."""
    times_s = [time_s for time_s in (*run.one_use_ttfts_s(), *run.hot_ttfts_s()) if time_s is not None]
    return float(np.percentile(times_s, 95)) if times_s else float("nan")


def _try(adapter: ServerAdapter, settings: Mapping[str, str], measure: Instruments, say: Say) -> Run | None:
    try:
        return take_run(adapter, settings, measure)
    except ServerError as error:
        say(f"it does not serve: {first_line(error)}")
        return None


def tuning_document(record: TuningRecord) -> dict[str, Any]:
    """The record as JSON holds it, its schema first, each trial with its verdict."""
    document: dict[str, Any] = plain(record)
    trials = document.pop("trials")
    return {
        "schema": SCHEMA,
        "recorded_at": document.pop("recorded_at"),
        "model": document.pop("model"),
        **document.pop("identity"),
        "choices": document.pop("choices"),
        "trials": [{"fit": trial.fit, **row} for trial, row in zip(record.trials, trials, strict=True)],
        **document,
        "final_mode": LRU,
    }


def tuning_from(content: bytes, name: str) -> TuningRecord:
    """The record of the document ``name``. Raises InputError: it is no ``keepwarm.canary-tuning/1``."""
    return record_from(content, SCHEMA, TuningRecord, name)
