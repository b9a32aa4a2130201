"""Records as short Markdown, which is also what the commands print."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence

from keepwarm._text import count, counted
from keepwarm.canary.checks import Check
from keepwarm.canary.options import TtftBudget
from keepwarm.canary.record import CanaryRecord, Model
from keepwarm.canary.rollback import Drill
from keepwarm.canary.runs import Run
from keepwarm.canary.tune import Trial, TuningRecord
from keepwarm.server.identity import Identity

_ABSENT = "–"


def canary_markdown(record: CanaryRecord) -> str:
    """The verdict, what was measured, every check."""
    verdict = "accepted" if record.accepted else "not accepted"
    settings = " ".join(f"{name}={value}" for name, value in record.settings.items())
    return "\n".join(
        [
            f"# Canary: {verdict}, final mode {record.final.mode}",
            "",
            *_subject(record.model, record.identity, record.recorded_at),
            f"- candidate: `{settings}`",
            f"- TTFT budget: {record.options.ttft_budget:g}× lru's",
            "",
            *_measured(
                {"lru": record.baseline, "active": record.candidate, "after rollback": record.drill.run}
            ),
            "",
            "## Acceptance",
            "",
            *_checks([*record.decision.checks, *record.final.checks]),
            "",
            *_drill(record.drill),
            "",
        ]
    )


def tuning_markdown(record: TuningRecord) -> str:
    """The choice, a row per rule and limit, the drill."""
    budget = record.options.p95_ttft_budget
    return "\n".join(
        [
            f"# Canary tuning: {_choices(record)}",
            "",
            *_subject(record.model, record.identity, record.recorded_at),
            f"- budget: p95 TTFT up to {_budget(budget)}",
            f"- lru: {_tokens_after(record.baseline)}; p95 TTFT {_lru_p95s(record)}",
            "",
            *_table(
                ("rule", "scan limit", "hot tokens after the flood", "kept", "p95 TTFT", "÷ lru", "fit"),
                [_trial(trial) for trial in record.trials],
            ),
            "",
            f"Kept: after every step at least 95% of the {_warm(record.baseline)} warm tokens were cached.",
            "",
            f"Steady machine: {record.steady().outcome}. ÷ lru: to the mean of its p95 before and after.",
            "",
            *_drill(record.drill),
            "",
        ]
    )


def _lru_p95s(record: TuningRecord) -> str:
    before = _ms(record.baseline_p95_ttft_s)
    after = record.rollback_p95_ttft_s
    return before if after is None else f"{before} before the trials, {_ms(after)} after"


def _subject(model: Model, identity: Identity, recorded_at: str) -> list[str]:
    versions = identity.versions
    changes = ", with uncommitted changes" if identity.uncommitted_changes else ""
    return [
        f"- model: {model.name}, at most {count(model.max_model_len)} tokens a request",
        f"- pool: {count(model.capacity_blocks)} usable blocks of {model.block_size} tokens",
        f"- device: {identity.device}",
        f"- versions: vLLM {versions.vllm}, keepwarm {versions.keepwarm}, Python {versions.python}",
        f"- commit: {identity.commit or 'unknown'}{changes}",
        f"- recorded: {recorded_at}",
    ]


def _measured(runs: dict[str, Run | None]) -> list[str]:
    """Cached tokens of the hot prefix by one-use requests sent, then medians; a column per run."""
    steps = next(run for run in runs.values() if run is not None).pressure.steps
    names = [f"hot tokens cached after {counted(step.flood_requests, 'one-use request')}" for step in steps]
    names += ["TTFT of the last hot request", "median TTFT of hot requests"]
    names += ["median TTFT of one-use requests", "failed requests", "faults of the plugin"]
    names += ["tokens evicted, then asked for again", "decisions", "of them reordered"]
    columns = [_column(run, len(names)) for run in runs.values()]
    return _table(("", *runs), list(zip(names, *columns, strict=True)))


def _column(run: Run | None, rows: int) -> list[str]:
    if run is None:
        return [_ABSENT] * rows
    return [
        *(_ABSENT if tokens is None else str(tokens) for tokens in run.hot_cached_tokens()),
        _median(run.hot_ttfts_s()[-1:]),
        _median(run.hot_ttfts_s()),
        _median(run.one_use_ttfts_s()),
        *(
            count(number)
            for number in (
                run.pressure.failed_requests,
                sum(run.plugin.faults.values()),
                run.plugin.evicted_then_requested_tokens,
                run.plugin.decisions,
                run.plugin.reordered_decisions,
            )
        ),
    ]


def _median(times_s: Iterable[float | None]) -> str:
    known = [time_s for time_s in times_s if time_s is not None]
    return _ms(statistics.median(known)) if known else _ABSENT


def _ms(time_s: float) -> str:
    return f"{time_s * 1000:,.1f} ms"


def _checks(checks: Sequence[Check]) -> list[str]:
    return [f"- {check.outcome}: **{check.code}**, {check.message}{_figures(check)}" for check in checks]


def _figures(check: Check) -> str:
    """Those that say something, in parentheses; names are the record's."""
    known = [(name, value) for name, value in check.figures.items() if value is not None and value != ""]
    said = (f"{name} {value:.3f}" if isinstance(value, float) else f"{name} {value}" for name, value in known)
    return f" ({', '.join(said)})" if known else ""


def _drill(drill: Drill) -> list[str]:
    title = f"## Rollback drill: {'passed' if drill.passed else 'failed'}"
    return [title, "", *_checks(drill.checks)]


def _choices(record: TuningRecord) -> str:
    said = (
        f"{choice.rule} {'none fits' if choice.scan_limit is None else f'with {choice.scan_limit}'}"
        for choice in record.choices
    )
    return ", ".join(said)


def _budget(budget: TtftBudget) -> str:
    return f"{budget.value:g} s" if budget.unit == "s" else f"{budget.value:g}× lru's"


def _warm(run: Run) -> str:
    return count(run.pressure.warm_prefix_cached_tokens)


def _tokens_after(run: Run) -> str:
    tokens = run.pressure.post_flood_cached_tokens
    return f"{_ABSENT if tokens is None else tokens} of {_warm(run)} hot tokens cached after the flood"


def _trial(trial: Trial) -> tuple[str, ...]:
    run = trial.run
    after = None if run is None else run.pressure.post_flood_cached_tokens
    return (
        trial.rule,
        str(trial.scan_limit),
        _ABSENT if after is None else str(after),
        "yes" if trial.protects else "no",
        _ABSENT if trial.p95_ttft_s is None else _ms(trial.p95_ttft_s),
        _ABSENT if trial.p95_ratio is None else f"{trial.p95_ratio:.3f}",
        "yes" if trial.fit else "no",
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A Markdown table whose columns are aligned, so that it reads well as plain text, too."""
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    lines = [_row(head, widths), "| " + " | ".join("-" * max(width, 3) for width in widths) + " |"]
    return [*lines, *(_row(row, widths) for row in rows)]


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "| " + " | ".join(cell.ljust(max(w, 3)) for cell, w in zip(cells, widths, strict=True)) + " |"
