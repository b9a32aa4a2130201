"""Inside CacheWise: sessions, the queue order, and how good the predictions of their return are."""

from __future__ import annotations

from scripts.dashboards.model import Dashboard, Panel, Query, Row, per_role, quantile, rate
from scripts.dashboards.shared import HIT_RATE

_ENDED = "keepwarm_reuse_predictions_total"
_CAME_BACK = '{outcome=~"early|middle|late"}'
_BACK = rate(_ENDED, selector=_CAME_BACK)
_EARLY, _LATE = (rate(_ENDED, selector=f'{{outcome="{name}"}}') for name in ("early", "late"))
_IN_TIME = rate(_ENDED, selector='{known="meanwhile",outcome=~"early|middle|late"}')
_UNPREDICTED = rate("keepwarm_reuse_unpredicted_total")
_PREDICTED_S, _REAL_S = rate("keepwarm_reuse_predicted_seconds_sum"), rate("keepwarm_reuse_real_seconds_sum")

CACHEWISE = Dashboard(
    "cachewise",
    "keepwarm: CacheWise",
    [
        Row(
            "Now",
            [
                Panel(
                    "Queue order",
                    "What the engines run in, whatever was asked for; fcfs is vLLM's own.",
                    [Query("sum by (role, mode) (keepwarm_scheduling) > 0", "{{role}}: {{mode}}")],
                    kind="names",
                ),
                Panel(
                    "Eviction",
                    "cachewise, or lru after too many faults. Nothing without KEEPWARM_EVICTION=cachewise.",
                    [
                        Query(
                            "sum by (role, eviction) (keepwarm_eviction_effective) > 0",
                            "{{role}}: {{eviction}}",
                        )
                    ],
                    kind="names",
                ),
                Panel(
                    "Put away",
                    "Engines that gave the queue order or the eviction up after too many faults.",
                    [Query('sum by (role) ({__name__=~"keepwarm_put_away|keepwarm_eviction_tripped"})')],
                    kind="stat",
                    bad_from=1,
                ),
                Panel(
                    "Faults",
                    "Caught since the engines started; vLLM's own order was kept for each.",
                    [Query('sum by (role) ({__name__=~"keepwarm_(eviction_)?faults_total"})')],
                    kind="stat",
                    bad_from=1,
                ),
            ],
        ),
        Row(
            "Sessions",
            [
                Panel(
                    "Hit rate",
                    "Share of prompt tokens served from the prefix cache.",
                    [Query(HIT_RATE)],
                    unit="percentunit",
                    most=1,
                ),
                Panel(
                    "Sessions",
                    "Known, with a request here, and paused by the active set.",
                    [
                        Query(
                            per_role("keepwarm_sessions", by="role, state"),
                            "{{role}}: {{state}}",
                        )
                    ],
                ),
                Panel(
                    "Evicted, then requested",
                    "Prompt tokens per second that had been cached, and were evicted before they were asked "
                    "for again.",
                    [Query(rate("keepwarm_eviction_evicted_then_requested_tokens_total"))],
                    unit="tokens/s",
                ),
                Panel(
                    "Hints",
                    "Per second, by what became of them.",
                    [Query(rate("keepwarm_hints_total", "role, outcome"), "{{role}}: {{outcome}}")],
                    unit="ops",
                ),
            ],
        ),
        Row(
            "Predicted against real time to reuse",
            [
                Panel(
                    "Predicted and real, median",
                    "Of sessions that came back and of which something was predicted.",
                    [
                        Query(quantile(0.5, "keepwarm_reuse_predicted_seconds"), "{{role}}: predicted"),
                        Query(quantile(0.5, "keepwarm_reuse_real_seconds"), "{{role}}: real"),
                    ],
                    unit="s",
                ),
                Panel(
                    "Real by predicted",
                    "Median, and between what eight of ten lie. What is predicted is a mean, and tools have "
                    "long tails: a median far below 1 is usual.",
                    [
                        Query(quantile(share, "keepwarm_reuse_ratio"), f"{{{{role}}}}: {name}")
                        for share, name in ((0.1, "10th percentile"), (0.5, "median"), (0.9, "90th"))
                    ],
                ),
                Panel(
                    "Early and late",
                    "Share of returns in the quickest and in the slowest quarter of what was predicted: 25% "
                    "each at most if the model is right. The alert ReusePredictionsOff compares late less "
                    "early with its own past.",
                    [
                        Query(f"{_EARLY} / {_BACK}", "{{role}}: early"),
                        Query(f"{_LATE} / {_BACK}", "{{role}}: late"),
                    ],
                    unit="percentunit",
                    most=1,
                ),
                Panel(
                    "Predicted by real, in the sum",
                    "Above 1 the model expects too long a time. Long calls weigh most.",
                    [Query(f"{_PREDICTED_S} / {_REAL_S}")],
                ),
                Panel(
                    "Predictions by outcome",
                    "Per second. Those of finished and away were never met, and are in no other panel.",
                    [Query(rate(_ENDED, "role, outcome"), "{{role}}: {{outcome}}")],
                    unit="ops",
                ),
                Panel(
                    "Returns with a prediction",
                    "Share of all returns, and of these the share whose tool call a hint had told in time: "
                    "the eviction can go by no other.",
                    [
                        Query(f"{_BACK} / ({_BACK} + {_UNPREDICTED})", "{{role}}: predicted"),
                        Query(f"{_IN_TIME} / {_BACK}", "{{role}}: told in time"),
                    ],
                    unit="percentunit",
                    most=1,
                ),
            ],
        ),
    ],
)
