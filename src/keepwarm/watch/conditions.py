"""The alerts of the online feed: the expressions of deploy/prometheus/online_feed.yml, and how to say each.

Prometheus waits ``for`` a while before it fires; ``keepwarm watch`` says what holds at this moment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from keepwarm._text import percent, visible
from keepwarm.watch.prometheus import Prometheus, Sample
from keepwarm.watch.reuse import PREDICTIONS_OFF

RUNBOOK = "docs/how-to/watch.md"

_BY = "by (job, instance, role)"


class Condition(NamedTuple):
    """An alert: what it asks of Prometheus, and what an answer means in words."""

    alert: str
    expr: str
    reason: Callable[[Sample], str]


THRASH = f"""\
(
  sum {_BY} (
    rate(computecache_evicted_then_requested_tokens_total[5m])
    or rate(keepwarm_eviction_evicted_then_requested_tokens_total[5m])
  )
  / sum {_BY} (rate(vllm:prefix_cache_queries_total[5m])) > 0.2
)
and sum {_BY} (avg_over_time(vllm:num_requests_waiting[5m])) >= 1
"""

PREFIX_BROKE = """\
keepwarm_call_site_hit_rate{origin="simulated", window="reference"}
  - ignoring (window) keepwarm_call_site_hit_rate{origin="simulated", window="last"} > 0.1
and ignoring (direction) keepwarm_call_site_change_score{origin="simulated", direction="down"} >= 1
"""

HIT_RATE_DROPPED = f"""\
(
  sum {_BY} (rate(vllm:prefix_cache_hits_total[30m] offset 1h))
  / sum {_BY} (rate(vllm:prefix_cache_queries_total[30m] offset 1h))
)
- (
  sum {_BY} (rate(vllm:prefix_cache_hits_total[10m]))
  / sum {_BY} (rate(vllm:prefix_cache_queries_total[10m]))
) > 0.15
and sum {_BY} (rate(vllm:prefix_cache_queries_total[10m])) > 100
"""

FELL_BACK = f"""\
max {_BY} (
  (computecache_tripped > 0)
  or (keepwarm_eviction_tripped > 0)
  or (keepwarm_put_away > 0)
)
"""

NOT_WANTED = """\
label_replace(up{wanted_mode!=""} == 1, "mode", "$1", "wanted_mode", "(.+)")
  unless on (job, instance, mode) computecache_effective_mode > 0
or label_replace(up{wanted_eviction!=""} == 1, "eviction", "$1", "wanted_eviction", "(.+)")
  unless on (job, instance, eviction) keepwarm_eviction_effective > 0
or label_replace(up{wanted_scheduling!=""} == 1, "mode", "$1", "wanted_scheduling", "(.+)")
  unless on (job, instance, mode) keepwarm_scheduling > 0
"""


def _thrash(sample: Sample) -> str:
    return (
        f"{percent(sample.value)} of the prompt tokens of the last 5 minutes had been cached and were "
        "evicted, and requests waited meanwhile"
    )


def _prefix_broke(sample: Sample) -> str:
    site = visible(sample.labels.get("call_site", "?"))
    return f"the simulated hit rate of {site} fell by {_points(sample)}: was its prompt deployed anew?"


def _hit_rate_dropped(sample: Sample) -> str:
    return f"the hit rate of the last 10 minutes is {_points(sample)} below that of an hour ago"


def _fell_back(sample: Sample) -> str:
    return f"{sample.value:g} of its engines gave a policy up after too many faults; a restart brings it back"


def _not_wanted(sample: Sample) -> str:
    wanted = sample.labels.get("mode") or sample.labels.get("eviction") or "?"
    return f"the labels of the target want {visible(wanted)!r}, and no engine of it runs in that"


def _predictions_off(sample: Sample) -> str:
    return (
        f"sessions that come back late, less those early, are {_points(sample)} of all from their own past: "
        "do tools take another time, or others run, than the model was fitted on?"
    )


CONDITIONS = (
    Condition("CacheThrash", THRASH, _thrash),
    Condition("CallSitePrefixBroke", PREFIX_BROKE, _prefix_broke),
    Condition("HitRateDropped", HIT_RATE_DROPPED, _hit_rate_dropped),
    Condition("PolicyFellBack", FELL_BACK, _fell_back),
    Condition("PolicyNotAsWanted", NOT_WANTED, _not_wanted),
    Condition("ReusePredictionsOff", PREDICTIONS_OFF, _predictions_off),
)


class Held(NamedTuple):
    """A condition that holds: of which series, and why."""

    alert: str
    labels: Mapping[str, str]
    value: float
    reason: str
    runbook: str


def conditions_held(prometheus: Prometheus, at_s: float) -> list[Held]:
    """Every condition that holds at ``at_s``, in the order of the rules. Raises ServerError."""
    return [
        Held(
            condition.alert,
            dict(sorted(sample.labels.items())),
            sample.value,
            condition.reason(sample),
            f"{RUNBOOK}#{condition.alert.lower()}",
        )
        for condition in CONDITIONS
        for sample in sorted(prometheus.query(condition.expr, at_s), key=lambda s: sorted(s.labels.items()))
    ]


def _points(sample: Sample) -> str:
    return f"{sample.value * 100:.0f} points"
