"""Figures of a comparison as people read them, for page and terminal alike."""

from __future__ import annotations

from collections.abc import Iterator

from keepwarm._text import count, counted, percent
from keepwarm.replay.comparing.comparison import Comparison, Estimate, SimulatedRun


def rate_words(estimate: Estimate) -> str:
    """``76.1% (74.0% to 78.2%)``."""
    return percent(estimate.value) + _interval(estimate, "{:.1%}")


def points_words(estimate: Estimate) -> str:
    """``+71.3 points (+69.0 to +73.5)``."""
    shown = Estimate(
        value=100 * estimate.value,
        low=None if estimate.low is None else 100 * estimate.low,
        high=None if estimate.high is None else 100 * estimate.high,
    )
    return f"{shown.value:+.1f} points" + _interval(shown, "{:+.1f}")


def seconds_words(estimate: Estimate) -> str:
    """``0.412 s (0.398 to 0.431)``."""
    return f"{seconds(estimate.value)} s" + _interval(estimate, f"{{:.{_decimals(estimate.value)}f}}")


def seconds(value: float) -> str:
    """Three decimals, four below a tenth of a second."""
    return f"{value:.{_decimals(value)}f}"


def delta_words(estimate: Estimate) -> str:
    """``-0.231 s (-0.240 to -0.222)``."""
    decimals = _decimals(estimate.value)
    return f"{estimate.value:+.{decimals}f} s" + _interval(estimate, f"{{:+.{decimals}f}}")


def ratio_words(estimate: Estimate) -> str:
    """``1.62× (1.51 to 1.74)``."""
    return f"{estimate.value:.2f}×" + _interval(estimate, "{:.2f}")


def bounds_words(estimate: Estimate, form: str) -> str:
    """``74.0% to 78.2%``, each bound written by ``form``; empty without bounds."""
    if estimate.low is None or estimate.high is None:
        return ""
    return f"{form.format(estimate.low)} to {form.format(estimate.high)}"


def _interval(estimate: Estimate, form: str) -> str:
    bounds = bounds_words(estimate, form)
    return f" ({bounds})" if bounds else ""


def _decimals(value: float) -> int:
    return 3 if abs(value) >= 0.1 else 4


def verdict(comparison: Comparison) -> str:
    """The whole comparison in one sentence."""
    rates, ttft = comparison.hit_rate, comparison.ttft
    before_s, after_s = seconds(ttft.before_median_s.value), seconds(ttft.after_median_s.value)
    sentence = (
        f"Measured hit rate {percent(rates.before.value)} before, {percent(rates.after.value)} after; "
        f"median TTFT {before_s} s before, {after_s} s after."
    )
    return sentence if comparison.complete else f"Incomplete. {sentence}"


def method(comparison: Comparison) -> str:
    """How the intervals were made."""
    bootstrap = comparison.bootstrap
    units = counted(bootstrap.units, bootstrap.unit)
    if comparison.hit_rate.before.low is None:
        return f"No intervals: {units} are too few for any."
    return (
        f"In parentheses {bootstrap.confidence:.0%} intervals: percentile bootstrap, {units} drawn "
        f"{count(bootstrap.resamples)} times, seed {bootstrap.seed}."
    )


def simulated_rows(comparison: Comparison) -> Iterator[tuple[str, str]]:
    """``before`` or ``after``, and what was simulated of it; one row a set of tokens."""
    for name, runs in (("before", comparison.simulated_before), ("after", comparison.simulated_after)):
        for run in runs:
            yield name, simulated_words(run)


def simulated_words(run: SimulatedRun) -> str:
    """Simulated against measured."""
    return (
        f"{percent(run.simulated_hit_rate)} simulated, {percent(run.measured_hit_rate)} measured, residual "
        f"{run.residual_points:+.2f} points; {count(run.equal_requests)} of "
        f"{counted(run.requests, 'request')} equal ({run.tokens_of} tokens, {run.policy})"
    )
