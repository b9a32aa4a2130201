"""Whether the candidate may stay: a list of checks, each of which can say no alone."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from keepwarm.canary.checks import Check, Outcome, check
from keepwarm.canary.intervals import Ratio, paired_ratio
from keepwarm.canary.options import CanaryOptions
from keepwarm.canary.runs import Run

ACTIVE = "active"
_TIMES = {
    "ttft-one-use": "one-use requests' TTFT, candidate ÷ lru, against the budget",
    "ttft-hot": "hot requests' TTFT, candidate ÷ lru, against the budget",
}


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """Accepted if no check refuses. All checks are kept, so that a record shows what was looked at."""

    accepted: bool
    checks: tuple[Check, ...]

    def reasons(self) -> list[Check]:
        """The checks that refuse."""
        return [check for check in self.checks if check.refused]


def decide(baseline: Run, candidate: Run, *, again: Run | None, options: CanaryOptions) -> Decision:
    """Hold the candidate to the baseline, and its times to ``again``, too: a second run under lru.

    The machine's own drift between two runs is no fault of the candidate: its times are refused only where
    they are beyond the budget against the lru run before it and the one after.
    """
    ttft_budget = options.ttft_budget
    lru_runs = [baseline] if again is None else [baseline, again]
    checks = (
        _served(baseline, candidate),
        _in_effect(candidate),
        _same_workload(baseline, candidate),
        _gain(baseline, candidate),
        same_text(baseline, candidate, other_text=options.other_text),
        _time(
            "ttft-one-use",
            candidate.one_use_ttfts_s(),
            [run.one_use_ttfts_s() for run in lru_runs],
            ttft_budget,
        ),
        _time("ttft-hot", candidate.hot_ttfts_s(), [run.hot_ttfts_s() for run in lru_runs], ttft_budget),
        faultless(baseline=baseline, candidate=candidate),
        _consistent(baseline, candidate),
    )
    return Decision(accepted=not any(check.refused for check in checks), checks=checks)


def refuse_unserved() -> Decision:
    """The decision on a candidate whose server did not start, or stopped to answer."""
    message = "the candidate's server starts and answers to the end of the run"
    return Decision(accepted=False, checks=(check("served", False, message),))


def _served(baseline: Run, candidate: Run) -> Check:
    figures = {"baseline": baseline.pressure.failed_requests, "candidate": candidate.pressure.failed_requests}
    return check("served", not any(figures.values()), "no request fails", **figures)


def _in_effect(candidate: Run) -> Check:
    modes = {"plugin": candidate.plugin.mode, "during_the_run": candidate.pressure.mode}
    return check("in-effect", set(modes.values()) == {ACTIVE}, "the policy is in effect to the end", **modes)


def _same_workload(baseline: Run, candidate: Run) -> Check:
    fields = ("max_model_len", "block_size", "hot_prefix_tokens", "flood_prompt_tokens", "flood_requests")
    differing = [
        name for name in fields if getattr(baseline.pressure, name) != getattr(candidate.pressure, name)
    ]
    return check(
        "same-workload", not differing, "both runs send the same requests", differing=", ".join(differing)
    )


def _gain(baseline: Run, candidate: Run) -> Check:
    before, after = baseline.pressure.post_flood_cached_tokens, candidate.pressure.post_flood_cached_tokens
    fine = after is not None and after > (before or 0)
    message = "more of the hot prefix is cached after the flood"
    return check("gain", fine, message, baseline_tokens=before, candidate_tokens=after)


def same_text(baseline: Run, other: Run, *, other_text: bool) -> Check:
    """Whether ``other`` generates the baseline's text; with ``other_text`` a difference is only said."""
    pairs = zip(other.pressure.steps, baseline.pressure.steps, strict=False)
    differing = [ours.flood_requests for ours, theirs in pairs if ours.text != theirs.text]
    steps = len(baseline.pressure.steps)
    fine = not differing and len(other.pressure.steps) == steps
    outcome: Outcome = "passed" if fine else ("not shown" if other_text else "refused")
    return Check(
        code="same-text",
        outcome=outcome,
        message="the hot request generates the same text as under lru, after every step",
        figures={
            "steps": steps,
            "differing_steps": len(differing),
            "first_after_requests": next(iter(differing), None),
        },
    )


def _time(
    code: str, candidate: Sequence[float | None], lru: Sequence[Sequence[float | None]], budget: float
) -> Check:
    ratios = [paired_ratio(candidate, times) for times in lru]
    known = [ratio for ratio in ratios if ratio is not None]
    figures: dict[str, int | float | str | None] = {"budget": budget}
    for name, ratio in zip(("baseline", "rollback"), ratios, strict=False):
        figures |= _figures(name, ratio)
    if len(known) < len(ratios):
        return Check(code=code, outcome="not shown", message=_TIMES[code], figures=figures)
    if all(ratio.beyond(budget) for ratio in known):
        return Check(code=code, outcome="refused", message=_TIMES[code], figures=figures)
    shown = all(ratio.within(budget) for ratio in known)
    return Check(code=code, outcome="passed" if shown else "not shown", message=_TIMES[code], figures=figures)


def _figures(name: str, ratio: Ratio | None) -> dict[str, int | float | str | None]:
    if ratio is None:
        return {f"{name}_pairs": 0}
    return {
        f"{name}_ratio": ratio.ratio,
        f"{name}_low": ratio.low,
        f"{name}_high": ratio.high,
        f"{name}_pairs": ratio.pairs,
    }


def faultless(**runs: Run) -> Check:
    """Whether the plugin met no fault in any of ``runs``; under lru its counters are what is at stake."""
    figures: dict[str, int] = {}
    for name, run in runs.items():
        figures[f"{name}_tripped_engines"] = run.plugin.tripped_engines
        figures |= {f"{name}_faults_{kind}": n for kind, n in sorted(run.plugin.faults.items())}
    return check(
        "faultless", not any(figures.values()), "the plugin meets no fault and does not trip", **figures
    )


def _consistent(baseline: Run, candidate: Run) -> Check:
    return check(
        "consistent",
        baseline.pressure.consistent and candidate.pressure.consistent,
        "usage and the server's counters agree",
        baseline="; ".join(baseline.pressure.inconsistencies),
        candidate="; ".join(candidate.pressure.inconsistencies),
    )
