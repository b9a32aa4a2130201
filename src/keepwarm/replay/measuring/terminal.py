"""A run for the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.console import Group
from rich.text import Text

from keepwarm._console import facts, heading, to_text
from keepwarm._text import count, counted, percent, visible
from keepwarm.replay.measuring.page import warnings_of
from keepwarm.replay.measuring.record import Run, Times, run_document


def render_run(run: Run, out: Path, chain_sha256: str, *, width: int, colour: bool) -> str:
    """The whole run as text of ``width`` columns; every figure in it was measured."""
    parts = [heading(f"keepwarm: measured replay {run.label!r}"), facts(_rows(run, out, chain_sha256))]
    return to_text(Group(*parts), width=width, colour=colour)


def _rows(run: Run, out: Path, chain_sha256: str) -> Iterator[tuple[str, str | Text]]:
    server, requests, tokens = run.server, run.requests, run.tokens
    yield "server", visible(f"vLLM {server.vllm}, {server.model}, {server.device_type or 'device not told'}")
    yield "model files", visible(server.model_root or "not told")
    yield "cache", f"{counted(server.capacity_blocks, 'usable block')} of {server.block_size} tokens"
    yield "mode", f"{run.conditions.mode}, {counted(run.conditions.concurrency, 'request')} at once"
    sent = requests.ok + requests.failed + requests.not_sent
    yield "answered", f"{requests.ok} of {counted(sent, 'request')}"
    rate = f"{percent(run.hit_rate)} measured, {count(tokens.cached)} of {count(tokens.prompt)} prompt tokens"
    yield "hit rate", Text(rate, style="bold")
    yield "TTFT", _times(run.ttft_s)
    yield "total", _times(run.total_s)
    for failure in run.failures:
        reason = f"{counted(failure.requests, 'request')}: {visible(failure.reason)}"
        yield "failed", Text(reason, style="yellow")
    for sentence in warnings_of(run_document(run)):
        yield "note", Text(visible(sentence), style="yellow")
    yield "evidence", visible(str(out))
    yield "chain digest", chain_sha256


def _times(times: Times | None) -> str:
    if times is None:
        return "none"
    return f"{times.p50:.3f} s median, {times.p90:.3f} s p90, {times.p99:.3f} s p99"
