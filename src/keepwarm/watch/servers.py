"""What a Prometheus knows of each vLLM server now: the document ``keepwarm.watch/1``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from keepwarm._errors import ServerError
from keepwarm._json import plain
from keepwarm.watch.conditions import Held, conditions_held
from keepwarm.watch.prometheus import Prometheus, Sample
from keepwarm.watch.reuse import NOT_EXPORTED, NOT_PREDICTED, reuse_figures

SCHEMA = "keepwarm.watch/1"
_QUERIES = "vllm:prefix_cache_queries_total"
_BY = "by (job, instance, role)"

Place = tuple[str, str, str]
"""Job, instance and role of a target; the role is empty where its scrape gives none."""


class ServerNow(msgspec.Struct, frozen=True, kw_only=True):
    """One target. Rates are per second over the window; None: Prometheus has no such figure of it.

    ``hit_rate`` is hit by queried prompt tokens; ``evicted_then_requested_share`` is of the queried ones.
    ``modes`` are those that an engine is in: of ComputeCache, else of CacheWise's eviction.
    ``reuse_gap_p50_s`` is of blocks that vLLM samples, all others of reuse are of the plugin's sessions:

    - ``reuse_ratio_p50``: median of real by predicted; ``reuse_predicted_by_real``: of their sums, above 1
      if too much is expected;
    - ``reuse_within_2x_share``: of predictions whose session came back, those within a factor of two;
    - ``reuse_early_share``, ``reuse_late_share``: of the same, those in the quickest and in the slowest
      quarter of what was predicted;
    - ``reuse_never_share``: of predictions that ended, those whose session finished or stayed away;
    - ``reuse_predicted_share``: of sessions that came back, those with a prediction;
    - ``reuse_meanwhile_share``: of these, those whose tool call was known while they were idle.
    """

    job: str
    instance: str
    role: str
    hit_rate: float | None
    prompt_tokens_per_s: float | None
    evicted_then_requested_tokens_per_s: float | None
    evicted_then_requested_share: float | None
    kv_usage: float | None
    running: float | None
    waiting: float | None
    modes: tuple[str, ...]
    scheduling: tuple[str, ...]
    tripped: float | None
    faults: float | None
    paused_sessions: float | None
    reuse_gap_p50_s: float | None
    predicted_reuse_p50_s: float | None = None
    real_reuse_p50_s: float | None = None
    reuse_ratio_p50: float | None = None
    reuse_predicted_by_real: float | None = None
    reuse_within_2x_share: float | None = None
    reuse_early_share: float | None = None
    reuse_late_share: float | None = None
    reuse_never_share: float | None = None
    reuse_predicted_share: float | None = None
    reuse_meanwhile_share: float | None = None


class Watched(NamedTuple):
    """One look. ``missing`` says in words what is asked for and cannot be known."""

    prometheus: str
    window: str
    at_s: float
    servers: Sequence[ServerNow]
    held: Sequence[Held]
    missing: Sequence[str]


def look(prometheus: Prometheus, window: str, at_s: float | None = None) -> Watched:
    """Every server at ``at_s`` (None: now), rates over ``window`` such as ``5m``.

    Raises ServerError: it cannot be asked, or it scrapes no vLLM server.
    """
    now_s = prometheus.now_s() if at_s is None else at_s
    places = sorted({_place(sample) for sample in prometheus.query(f"group {_BY} ({_QUERIES})", now_s)})
    if not places:
        raise ServerError(
            f"{prometheus.name} has no {_QUERIES}; let it scrape /metrics of a vLLM server that runs without "
            "--disable-log-stats, or look at its /targets"
        )
    asked = _figures(window) | reuse_figures(window)
    figures = {name: _by_place(prometheus.query(expr, now_s)) for name, expr in asked.items()}
    modes = _on(prometheus, now_s, "computecache_effective_mode", "mode")
    evictions = _on(prometheus, now_s, "keepwarm_eviction_effective", "eviction")
    orders = _on(prometheus, now_s, "keepwarm_scheduling", "mode")
    servers = [
        ServerNow(
            job=place[0],
            instance=place[1],
            role=place[2],
            modes=modes.get(place) or evictions.get(place, ()),
            scheduling=orders.get(place, ()),
            **{name: values.get(place) for name, values in figures.items()},
        )
        for place in places
    ]
    held = conditions_held(prometheus, now_s)
    return Watched(prometheus.name, window, now_s, servers, held, _missing(prometheus, now_s, servers))


def watch_document(watched: Watched) -> dict[str, Any]:
    """``keepwarm.watch/1``: everything in it is measured by the servers."""
    document: dict[str, Any] = plain(
        {
            "schema": SCHEMA,
            "prometheus": watched.prometheus,
            "window": watched.window,
            "at_s": watched.at_s,
            "servers": list(watched.servers),
            "conditions": [held._asdict() for held in watched.held],
            "missing": list(watched.missing),
        }
    )
    return document


def _missing(prometheus: Prometheus, at_s: float, servers: Sequence[ServerNow]) -> tuple[str, ...]:
    if any(server.reuse_late_share is not None for server in servers):
        return ()
    exported = prometheus.query("group (keepwarm_reuse_predictions_total)", at_s)
    return (NOT_PREDICTED if exported else NOT_EXPORTED,)


def _figures(window: str) -> dict[str, str]:
    """PromQL by the field of ``ServerNow`` that it fills."""
    queried = f"sum {_BY} (rate({_QUERIES}[{window}]))"
    again = (
        f"sum {_BY} (rate(computecache_evicted_then_requested_tokens_total[{window}]) "
        f"or rate(keepwarm_eviction_evicted_then_requested_tokens_total[{window}]))"
    )
    gaps = f"sum by (job, instance, role, le) (rate(vllm:kv_block_reuse_gap_seconds_bucket[{window}]))"
    return {
        "hit_rate": f"sum {_BY} (rate(vllm:prefix_cache_hits_total[{window}])) / {queried}",
        "prompt_tokens_per_s": queried,
        "evicted_then_requested_tokens_per_s": again,
        "evicted_then_requested_share": f"{again} / {queried}",
        "kv_usage": f"max {_BY} (vllm:kv_cache_usage_perc)",
        "running": f"sum {_BY} (vllm:num_requests_running)",
        "waiting": f"sum {_BY} (vllm:num_requests_waiting)",
        "tripped": _summed("computecache_tripped", "keepwarm_eviction_tripped", "keepwarm_put_away"),
        "faults": _summed(
            "computecache_faults_total", "keepwarm_eviction_faults_total", "keepwarm_faults_total"
        ),
        "paused_sessions": f'sum {_BY} (keepwarm_sessions{{state="paused"}})',
        "reuse_gap_p50_s": f"histogram_quantile(0.5, {gaps})",
    }


def _summed(*metrics: str) -> str:
    """The sum over metrics of which a server may have any: by name, so that none hides another."""
    return f'sum {_BY} ({{__name__=~"{"|".join(metrics)}"}})'


def _on(prometheus: Prometheus, at_s: float, metric: str, label: str) -> Mapping[Place, tuple[str, ...]]:
    """Per server, the values of ``label`` for which ``metric`` counts an engine."""
    found: dict[Place, tuple[str, ...]] = {}
    samples = prometheus.query(f"sum by (job, instance, role, {label}) ({metric}) > 0", at_s)
    for sample in sorted(samples, key=lambda one: one.labels.get(label, "")):
        place = _place(sample)
        found[place] = (*found.get(place, ()), sample.labels.get(label, ""))
    return found


def _by_place(samples: Sequence[Sample]) -> dict[Place, float]:
    return {_place(sample): sample.value for sample in samples}


def _place(sample: Sample) -> Place:
    labels = sample.labels
    return labels.get("job", ""), labels.get("instance", ""), labels.get("role", "")
