"""A comparison for the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from keepwarm._console import facts, heading, to_text
from keepwarm._text import counted, visible
from keepwarm.replay.comparing import words
from keepwarm.replay.comparing.comparison import Comparison


def render_comparison(comparison: Comparison, *, width: int, colour: bool) -> str:
    """The whole comparison as text of ``width`` columns."""
    boundary = comparison.boundary
    parts: list[RenderableType] = [
        heading("keepwarm: before and after (measured)"),
        Text(visible(words.verdict(comparison)), style="bold"),
        *(Text(visible(warning), style="yellow") for warning in comparison.warnings),
        Text(),
        facts(_rows(comparison)),
        Text(words.method(comparison), style="dim"),
        Text(),
        heading("Simulated against measured"),
        facts(words.simulated_rows(comparison)),
        Text(),
        heading("The boundary of this claim"),
        facts(
            [
                *(("held equal", visible(sentence)) for sentence in boundary.held_equal),
                *(("not equal", visible(sentence)) for sentence in boundary.not_held_equal),
                *(("limit", visible(sentence)) for sentence in boundary.limits),
            ]
        ),
    ]
    return to_text(Group(*parts), width=width, colour=colour)


def _rows(comparison: Comparison) -> Iterator[tuple[str, str | Text]]:
    rates, ttft, pairs, outputs = comparison.hit_rate, comparison.ttft, comparison.pairs, comparison.outputs
    yield "hit rate before", words.rate_words(rates.before)
    yield "hit rate after", words.rate_words(rates.after)
    yield "difference", Text(words.points_words(rates.difference), style="bold")
    yield "TTFT before", f"{words.seconds_words(ttft.before_median_s)}, median"
    yield "TTFT after", f"{words.seconds_words(ttft.after_median_s)}, median"
    yield "before ÷ after", Text(words.ratio_words(ttft.ratio), style="bold")
    yield "paired delta", f"{words.delta_words(ttft.paired_delta_s)}, median of the pairs"
    yield "pairs", f"{ttft.faster_pairs} faster, {ttft.slower_pairs} slower, {pairs.left_out} left out"
    yield "outputs", f"{outputs.equal} equal, {counted(outputs.changed, 'text')} changed"
