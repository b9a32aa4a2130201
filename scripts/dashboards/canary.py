"""The canary beside the baseline: what users of the two servers feel."""

from __future__ import annotations

from scripts.dashboards.model import Dashboard, Panel, Query, Row, per_role, quantile, rate
from scripts.dashboards.shared import EVICTED_THEN_REQUESTED, HIT_RATE, MODE, TRIPPED

CANARY = Dashboard(
    "canary",
    "keepwarm: canary beside baseline",
    [
        Row(
            "Now",
            [
                Panel(
                    "Hit rate",
                    "Share of prompt tokens served from the prefix cache.",
                    [Query(HIT_RATE)],
                    unit="percentunit",
                    kind="stat",
                ),
                Panel(
                    "TTFT, 95th percentile",
                    "Nineteen of twenty requests get their first token within this time.",
                    [Query(quantile(0.95, "vllm:time_to_first_token_seconds"))],
                    unit="s",
                    kind="stat",
                ),
                MODE,
                TRIPPED._replace(title="Engines tripped"),
                Panel(
                    "Faults",
                    "Decisions that fell back to stock order since the engines started.",
                    [Query(per_role("computecache_faults_total"))],
                    kind="stat",
                    bad_from=1,
                ),
                Panel(
                    "Alerts firing",
                    "How many alerts of deploy/prometheus/alerts.yml fire.",
                    [Query('count(ALERTS{alertstate="firing"}) or vector(0)', "alerts")],
                    kind="stat",
                    bad_from=1,
                ),
            ],
        ),
        Row(
            "Prefix cache",
            [
                Panel(
                    "Hit rate",
                    "Share of prompt tokens served from the prefix cache: hit tokens by queried tokens.",
                    [Query(HIT_RATE)],
                    unit="percentunit",
                    most=1,
                ),
                Panel(
                    "Cached tokens",
                    "Prompt tokens per second that were served from the cache.",
                    [Query(rate("vllm:prompt_tokens_cached_total"))],
                    unit="tokens/s",
                ),
                Panel(
                    "Evicted, then requested",
                    "Prompt tokens per second that had been cached, and were evicted before they were asked "
                    "for again: what the cache's size and the eviction order cost.",
                    [Query(EVICTED_THEN_REQUESTED)],
                    unit="tokens/s",
                ),
                Panel(
                    "KV cache in use",
                    "Share of blocks that running requests hold. Blocks that are free and still cached do "
                    "not count: an idle server with a full cache reads 0.",
                    [Query(per_role("vllm:kv_cache_usage_perc", reduce="max"))],
                    unit="percentunit",
                    most=1,
                ),
            ],
        ),
        Row(
            "Latency and load",
            [
                Panel(
                    "TTFT, median",
                    "Half of the requests get their first token within this time.",
                    [Query(quantile(0.5, "vllm:time_to_first_token_seconds"))],
                    unit="s",
                ),
                Panel(
                    "TTFT, 95th percentile",
                    "Nineteen of twenty requests get their first token within this time.",
                    [Query(quantile(0.95, "vllm:time_to_first_token_seconds"))],
                    unit="s",
                ),
                Panel(
                    "Requests finished",
                    "Per second, by how they ended: stop and length are answers, the others are not.",
                    [
                        Query(
                            rate("vllm:request_success_total", "role, finished_reason"),
                            "{{role}}: {{finished_reason}}",
                        )
                    ],
                    unit="reqps",
                ),
                Panel(
                    "Requests running and waiting",
                    "In the batch, and in the queue before it.",
                    [
                        Query(per_role("vllm:num_requests_running"), "{{role}}: running"),
                        Query(per_role("vllm:num_requests_waiting"), "{{role}}: waiting"),
                    ],
                ),
                Panel(
                    "Prompt tokens",
                    "Per second, cached or not: the two servers compare only under the same load.",
                    [Query(rate("vllm:prefix_cache_queries_total"))],
                    unit="tokens/s",
                ),
                Panel(
                    "Preemptions",
                    "Requests per second that lost their blocks to others and are computed again.",
                    [Query(rate("vllm:num_preemptions_total"))],
                    unit="reqps",
                ),
            ],
        ),
    ],
)
