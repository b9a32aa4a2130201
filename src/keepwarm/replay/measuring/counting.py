"""The server's counters around a run, and what they say against the usage of each answer."""

from __future__ import annotations

import time
from collections.abc import Sequence

from keepwarm._text import counted
from keepwarm.replay.measuring.record import Counter, Row
from keepwarm.server.client import VllmClient
from keepwarm.server.metrics import Metrics

# vLLM's v1/metrics/loggers.py.
QUERIES = "vllm:prefix_cache_queries_total"
HITS = "vllm:prefix_cache_hits_total"
_EXTERNAL_HITS = "vllm:external_prefix_cache_hits_total"
_NAMES = (
    *(QUERIES, HITS, "vllm:external_prefix_cache_queries_total", _EXTERNAL_HITS),
    *("vllm:num_preemptions_total", "vllm:prompt_tokens_total", "vllm:generation_tokens_total"),
    "vllm:request_success_total",
)
# The API server passes the tokens of an engine step on just before it counts them.
_TRIES = 10
_PAUSE_S = 0.1
_LATE_S = 0.5


def scrape(client: VllmClient) -> Metrics:
    """Raises ServerError."""
    return Metrics.parsed(client.metrics_text(), client.name)


def counters_of(metrics: Metrics) -> dict[str, int]:
    """Those that a run is judged by, as far as the server has them."""
    totals = ((name, metrics.total(name)) for name in _NAMES)
    return {name: total for name, total in totals if total is not None}


def plugin_totals(metrics: Metrics) -> dict[str, float]:
    """The plugin's counters, without its gauges."""
    return {name: value for name, value in metrics.plugin().items() if "_total" in name}


def settled(client: VllmClient, before: dict[str, int], rows: Sequence[Row]) -> Metrics:
    """A scrape that has all of ``rows``, or the last one after a second."""
    for attempt in range(_TRIES):
        if attempt:
            time.sleep(_PAUSE_S)
        metrics = scrape(client)
        counters = counters_of(metrics)
        if _hits(counters) - _hits(before) >= _cached(rows) and _rise(QUERIES, before, counters) >= _asked(
            rows
        ):
            break
    return metrics


def hits_since(before: dict[str, int], metrics: Metrics) -> int:
    """Tokens hit since ``before``, in the pool and in a store behind it."""
    return _hits(counters_of(metrics)) - _hits(before)


def contradictions(counters: dict[str, Counter], rows: Sequence[Row]) -> tuple[str, ...]:
    """Sentences about figures that do not fit each other; none is the good answer."""
    found = []
    failed = sum(row.status == "failed" for row in rows)
    hits = sum(counters[name].rise for name in (HITS, _EXTERNAL_HITS) if name in counters)
    queries = counters[QUERIES].rise if QUERIES in counters else _asked(rows)
    for what, rise, expected in (("cached", hits, _cached(rows)), ("prompt", queries, _asked(rows))):
        # A failed request may have been counted, or not.
        if rise < expected or (rise > expected and not failed):
            found.append(
                f"usage says {expected} {what} tokens, the server's counters {rise}; does anybody else use "
                "this server?"
            )
    other = [row for row in _ok(rows) if row.prompt_tokens != row.tokenized_prompt_tokens]
    if other:
        first = other[0]
        found.append(
            f"{counted(len(other), 'request')} had another prompt length than /tokenize told, the first "
            f"{first.prompt_tokens} instead of {first.tokenized_prompt_tokens} tokens (line {first.line}); "
            "simulated figures are of other blocks"
        )
    late = [row.sent_s - row.due_s for row in rows if row.sent_s is not None and row.due_s is not None]
    if late and max(late) > _LATE_S:
        found.append(
            f"requests went out up to {max(late):.1f} s later than recorded; replay from a faster machine"
        )
    return tuple(found)


def first_wave_least_cached_tokens(rows: Sequence[Row]) -> int | None:
    """The least that a request hit which was sent before any answer came; None if that proves nothing."""
    ok = _ok(rows)
    if not ok:
        return None
    first_end_s = min((row.sent_s or 0.0) + (row.total_s or 0.0) for row in ok)
    wave = [row for row in rows if row.sent_s is not None and row.sent_s < first_end_s]
    hits = [row.cached_tokens or 0 for row in wave if row.status == "ok"]
    if not hits:
        return None
    has_failures = any(row.status == "failed" for row in wave)
    return None if min(hits) and has_failures else min(hits)  # what failed may have left blocks


def _ok(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row.status == "ok"]


def _cached(rows: Sequence[Row]) -> int:
    return sum(row.cached_tokens or 0 for row in _ok(rows))


def _asked(rows: Sequence[Row]) -> int:
    """Prompt tokens looked up; a request that skips reads is not counted (vllm/v1/core)."""
    return sum(row.prompt_tokens or 0 for row in _ok(rows) if not row.skip_reads)


def _hits(counters: dict[str, int]) -> int:
    return sum(counters.get(name, 0) for name in (HITS, _EXTERNAL_HITS))


def _rise(name: str, before: dict[str, int], after: dict[str, int]) -> int:
    """Without end for a counter that the server lacks: nothing waits for it."""
    return after[name] - before.get(name, 0) if name in after else 1 << 62
