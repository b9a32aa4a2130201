"""The evidence page of a comparison, made of it and of its pairs alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from keepwarm._text import count, percent
from keepwarm.evidence.page import Figure, Mark, Page, Section, Table, heights, scale, to_html
from keepwarm.replay.comparing import words
from keepwarm.replay.comparing.comparison import Comparison, Estimate, Outputs, Ttft
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
            _rate_figure("hit rate before, measured", rates.before),
            _rate_figure("hit rate after, measured", rates.after),
            Figure("median TTFT before ÷ after", f"{ttft.ratio.value:.2f}×", _of(ttft.ratio, "{:.2f}")),
            Figure("median TTFT", f"{words.seconds(ttft.after_median_s.value)} s", _before(ttft)),
        ),
        sections=(
            Section(
                "TTFT of each request",
                sentences=(words.method(comparison), _deltas(ttft), _texts(outputs)),
                marks=tuple(_marks(pairs)),
                caption=_caption(pairs),
            ),
            Section("Simulated against measured", facts=tuple(words.simulated_rows(comparison))),
            Section("Held equal", facts=tuple(_named(sentence) for sentence in boundary.held_equal)),
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


def _rate_figure(label: str, rate: Estimate) -> Figure:
    return Figure(label, percent(rate.value), _of(rate, "{:.1%}"))


def _of(estimate: Estimate, form: str) -> str:
    bounds = words.bounds_words(estimate, form)
    return f"interval {bounds}" if bounds else "no interval"


def _before(ttft: Ttft) -> str:
    return f"after; before {words.seconds(ttft.before_median_s.value)} s"


def _named(sentence: str) -> tuple[str, str]:
    name, _, value = sentence.partition(": ")
    return name, value


def _deltas(ttft: Ttft) -> str:
    pairs = f"{count(ttft.faster_pairs)} pairs faster, {count(ttft.slower_pairs)} slower"
    return f"Paired delta, median: {words.delta_words(ttft.paired_delta_s)}; {pairs}."


def _texts(outputs: Outputs) -> str:
    return f"Generated texts: {count(outputs.equal)} equal, {count(outputs.changed)} changed."


def _marks(pairs: Sequence[PairRow]) -> Iterator[Mark]:
    last = max(len(pairs) - 1, 1)
    height = heights(_times(pairs))
    for index, pair in enumerate(pairs):
        for kind, label, ttft_s in (("a", "before", pair.before_ttft_s), ("b", "after", pair.after_ttft_s)):
            if ttft_s is not None:
                title = f"{pair.id}: {words.seconds(ttft_s)} s {label}"
                yield Mark(index / last, height(ttft_s), kind, title)


def _times(pairs: Sequence[PairRow]) -> list[float]:
    both = (ttft_s for pair in pairs for ttft_s in (pair.before_ttft_s, pair.after_ttft_s))
    return [ttft_s for ttft_s in both if ttft_s is not None]


def _caption(pairs: Sequence[PairRow]) -> str:
    return f"In recorded order, {scale(_times(pairs))}. Brown: before; blue: after."


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
    return "" if value is None else f"{words.seconds(value)} s"
