"""A cache simulation for the terminal: one table, and what has to be known to read it."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from keepwarm._console import facts, heading, to_text
from keepwarm._text import clip, count, counted, percent, shorten, visible
from keepwarm.cache.report.tables import (
    curve_table,
    remarks,
    rows_table,
    sample_remark,
    sampled_table,
    sizes_table,
)
from keepwarm.cache.simulation import CacheInfo, IfFixed, Simulation

_MOST_SKIPPED = 3


def render_simulation(simulation: Simulation, *, width: int, colour: bool) -> str:
    """The whole report as text of ``width`` columns."""
    parts: list[RenderableType] = [
        heading("keepwarm: what caches of these sizes would hit (simulated)"),
        facts(_header(simulation, width)),
        Text(),
        Text(_verdict(simulation), style="bold"),
    ]
    if simulation.if_fixed is not None:
        parts.append(Text(_if_fixed(simulation.if_fixed), style="bold"))
    if simulation.rows:
        parts += [Text(), heading("By capacity and policy (simulated)"), rows_table(simulation, width)]
        parts += [Text(line, style="dim") for line in remarks(simulation)]
    if simulation.curve is not None:
        parts += [Text(), heading("Hit rate by capacity (simulated)"), curve_table(simulation.curve, width)]
        parts += [Text(), heading("Usable blocks for a share of the ceiling (simulated)")]
        parts.append(sizes_table(simulation.curve, simulation.cache.bytes_per_block, width))
    if simulation.sampled_curve is not None:
        parts += [Text(), heading("lru, estimated from a sample (simulated)")]
        parts += [sampled_table(simulation.sampled_curve), sample_remark(simulation.sampled_curve)]
    return to_text(Group(*parts), width=width, colour=colour)


def _header(simulation: Simulation, width: int) -> Iterator[tuple[str, str | Text]]:
    info = simulation.input
    yield "trace", Text(shorten(visible(info.path), width - 12), style="bold")
    yield "", f"{visible(info.format)} · {counted(info.requests, 'request')}"
    if info.skipped:
        yield "skipped", Text(f"{counted(len(info.skipped), 'line')} skipped", style="yellow")
        for line in info.skipped[:_MOST_SKIPPED]:
            yield "", f"line {line.line}: {clip(visible(line.reason), 2 * width)}"
        if len(info.skipped) > _MOST_SKIPPED:
            yield "", f"and {len(info.skipped) - _MOST_SKIPPED} more; --json lists all"
    yield "tokens", _tokens(simulation)
    yield "cache", _cache(simulation.cache)
    if simulation.server is not None:
        yield "server", visible(simulation.server.summary)
    yield "replay", f"one request after another in {_order(simulation)}, each freed before the next"
    for caveat in _caveats(simulation):
        yield "note", caveat


def _tokens(simulation: Simulation) -> str:
    encoding = simulation.encoding
    if not simulation.input.prompt_texts_known:
        return visible(encoding.note)
    names = f"{visible(encoding.tokenizer)} · chat template {visible(encoding.chat_template)}"
    return f"{names} · {visible(encoding.note)}"


def _cache(cache: CacheInfo) -> str:
    parts = [f"{cache.block_size}-token blocks"]
    if cache.match_unit_tokens != cache.block_size:
        parts.append(f"hits are multiples of {cache.match_unit_tokens} tokens")
    parts.append("output left out" if cache.ignore_output else "output takes space")
    return ", ".join([*parts, f"{counted(cache.distinct_blocks, 'distinct block')} in the trace"])


def _order(simulation: Simulation) -> str:
    if simulation.input.time_merged:
        return "order of time since the start of its session"
    return "recorded order"


def _caveats(simulation: Simulation) -> Iterator[str]:
    info = simulation.input
    if info.prompt_texts_known and not info.prompt_complete:
        yield "The file leaves out a part of each prompt (system text or tools): real prompts are longer."
    if info.models > 1:
        yield f"Requests of {info.models} models share the capacity here; a server has it for one."


def _verdict(simulation: Simulation) -> str:
    ceiling = simulation.ceiling
    return (
        f"A cache that loses nothing would hit {percent(ceiling.hit_rate)}: {count(ceiling.hit_tokens)} of "
        f"{counted(ceiling.query_tokens, 'prompt token')} (simulated). No policy and no size exceeds it."
    )


def _if_fixed(fixed: IfFixed) -> str:
    if not fixed.findings:
        return "The diagnosis has no finding whose repair would change that."
    findings = counted(len(fixed.findings), "finding")
    rate = percent(fixed.ceiling.hit_rate)
    return f"With {findings} of the diagnosis repaired it would be {rate} (simulated)."
