"""The evidence page of a comparison, made of it and of its pairs alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from keepwarm._text import count
from keepwarm.evidence.page import Figure, Mark, Page, Section, Table, to_html
from keepwarm.replay.comparing import words
from keepwarm.replay.comparing.comparison import Comparison, Outputs, Ttft
from keepwarm.replay.comparing.pairs import PairRow


def comparison_page(comparison: Comparison, pairs: Sequence[PairRow], note: str | None = None) -> bytes:
    """The page as UTF-8, ``note`` above all else. Whatever is given may be shown."""
    rates, ttft, outputs = comparison.hit_rate, comparison.ttft, comparison.outputs
    boundary = comparison.boundary
    page = Page(
        title=f"Measured: {comparison.before.label} and {comparison.after.label}",
        verdict=words.verdict(comparison),
        warnings=(*(() if note is None else (note,)), *comparison.warnings),
        figures=(
            Figure("hit rate before, measured", words.rate_words(rates.before)),
            Figure(
                "hit rate after, measured",
                words.rate_words(rates.after),
                words.points_words(rates.difference),
            ),
            Figure("median TTFT before", words.seconds_words(ttft.before_median_s)),
            Figure(
                "median TTFT after",
                words.seconds_words(ttft.after_median_s),
                f"{words.ratio_words(ttft.ratio)} lower",
            ),
        ),
        sections=(
            Section(
                "TTFT of each request",
                sentences=(words.method(comparison), _deltas(ttft), _texts(outputs)),
                marks=tuple(_marks(pairs)),
                caption=_caption(pairs),
            ),
            Section("Simulated against measured", facts=tuple(_simulated(comparison))),
            Section("Held equal", sentences=boundary.held_equal),
            Section("Not held equal", sentences=boundary.not_held_equal),
            Section("What these figures do not say", sentences=boundary.limits),
            Section(
                "Evidence",
                facts=(
                    ("before, chain digest", comparison.before.chain_sha256),
                    ("after, chain digest", comparison.after.chain_sha256),
                    ("before, trace", comparison.before.trace_sha256),
                    ("after, trace", comparison.after.trace_sha256),
                ),
            ),
            Section("Pairs", table=_table(pairs)),
        ),
    )
    return to_html(page)


def _deltas(ttft: Ttft) -> str:
    pairs = f"{count(ttft.faster_pairs)} pairs faster, {count(ttft.slower_pairs)} slower"
    return f"Paired delta, median: {words.delta_words(ttft.paired_delta_s)}; {pairs}."


def _texts(outputs: Outputs) -> str:
    return f"Generated texts: {count(outputs.equal)} equal, {count(outputs.changed)} changed."


def _simulated(comparison: Comparison) -> Iterator[tuple[str, str]]:
    for name, runs in (("before", comparison.simulated_before), ("after", comparison.simulated_after)):
        for run in runs:
            yield name, words.simulated_words(run)


def _marks(pairs: Sequence[PairRow]) -> Iterator[Mark]:
    top, last = _top(pairs) or 1.0, max(len(pairs) - 1, 1)
    for index, pair in enumerate(pairs):
        for kind, label, seconds in (("a", "before", pair.before_ttft_s), ("b", "after", pair.after_ttft_s)):
            if seconds is not None:
                yield Mark(index / last, seconds / top, kind, f"{pair.id}: {seconds:.3f} s {label}")


def _top(pairs: Sequence[PairRow]) -> float:
    return max(
        (seconds or 0.0 for pair in pairs for seconds in (pair.before_ttft_s, pair.after_ttft_s)), default=0.0
    )


def _caption(pairs: Sequence[PairRow]) -> str:
    return f"In recorded order; the highest is {_top(pairs):.3f} s. Brown: before; blue: after."


def _table(pairs: Sequence[PairRow]) -> Table:
    return Table(
        ("request", "prompt before", "cached", "TTFT", "prompt after", "cached", "TTFT", "output"),
        tuple(
            (
                pair.id if pair.id == pair.after_id else f"{pair.id}, {pair.after_id}",
                _count(pair.before_prompt_tokens),
                _count(pair.before_cached_tokens),
                _seconds(pair.before_ttft_s),
                _count(pair.after_prompt_tokens),
                _count(pair.after_cached_tokens),
                _seconds(pair.after_ttft_s),
                _output(pair),
            )
            for pair in pairs
        ),
        frozenset((1, 2, 3, 4, 5, 6)),
    )


def _output(pair: PairRow) -> str:
    if pair.before_status == pair.after_status == "ok":
        return pair.output
    return f"{pair.before_status}, {pair.after_status}"


def _count(value: int | None) -> str:
    return "" if value is None else count(value)


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.3f} s"
