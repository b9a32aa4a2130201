"""Inside ComputeCache: what it decides, how long that takes, and which blocks it gives up."""

from __future__ import annotations

from scripts.dashboards.model import Dashboard, Panel, Query, Row, per_role, quantile, rate
from scripts.dashboards.shared import EVICTED_THEN_REQUESTED, MODE, TRIPPED

SCANNED_PER_DECISION = f"{rate('computecache_scanned_blocks_total')} / {rate('computecache_decisions_total')}"

COMPUTECACHE = Dashboard(
    "computecache",
    "keepwarm: inside ComputeCache",
    [
        Row(
            "Now",
            [
                MODE,
                Panel(
                    "Rule",
                    "boundary, or window as first published.",
                    [Query("sum by (role, rule) (computecache_effective_rule) > 0", "{{role}}: {{rule}}")],
                    kind="names",
                ),
                Panel(
                    "Scan limit",
                    "The most blocks that are compared for one demotion, or in the window.",
                    [Query(per_role("computecache_scan_limit", reduce="max"))],
                    kind="stat",
                ),
                TRIPPED,
            ],
        ),
        Row(
            "Decisions",
            [
                Panel(
                    "Decisions",
                    "Allocations per second for which the policy was asked. None in lru.",
                    [Query(rate("computecache_decisions_total"))],
                    unit="ops",
                ),
                Panel(
                    "Reordered",
                    "Decisions per second that took a block although one freed earlier stayed.",
                    [Query(rate("computecache_reordered_decisions_total"))],
                    unit="ops",
                ),
                Panel(
                    "Time of a decision",
                    "Median and 99th percentile. Over the time budget, 20 ms by default, it is a fault.",
                    [
                        Query(quantile(0.5, "computecache_decision_seconds"), "{{role}}: median"),
                        Query(quantile(0.99, "computecache_decision_seconds"), "{{role}}: 99th percentile"),
                    ],
                    unit="s",
                ),
                Panel(
                    "Blocks looked at per decision",
                    "Free blocks whose keep value was read.",
                    [Query(SCANNED_PER_DECISION)],
                ),
                Panel(
                    "Faults by kind",
                    "Decisions that fell back to stock order since the engines started.",
                    [Query(per_role("computecache_faults_total", by="role, kind"), "{{role}}: {{kind}}")],
                ),
            ],
        ),
        Row(
            "Blocks",
            [
                Panel(
                    "Evictions by class",
                    "Blocks per second that were taken: unhashed (nothing was lost), never hit, hit.",
                    [Query(rate("computecache_evicted_blocks_total", "role, class"), "{{role}}: {{class}}")],
                    unit="ops",
                ),
                Panel(
                    "Evicted, then requested",
                    "Prompt tokens per second that had been cached, and were evicted before they were asked "
                    "for again.",
                    [Query(EVICTED_THEN_REQUESTED)],
                    unit="tokens/s",
                ),
                Panel(
                    "Protected blocks",
                    "Free blocks behind the boundary, the most of late: hit before, and not stale. While a "
                    "request uses them, they are not among the free ones.",
                    [Query("sum by (role) (max_over_time(computecache_protected_blocks[$__rate_interval]))")],
                ),
                Panel(
                    "Demoted blocks",
                    "Blocks per second moved towards the head of the free list: stale, or too many.",
                    [Query(rate("computecache_demoted_blocks_total"))],
                    unit="ops",
                ),
                Panel(
                    "Idle before eviction, median",
                    "How long an evicted block had not been used. vLLM samples one block of a hundred.",
                    [Query(quantile(0.5, "vllm:kv_block_idle_before_evict_seconds"))],
                    unit="s",
                ),
                Panel(
                    "Life of a block, median",
                    "From allocation to eviction, of the same sample.",
                    [Query(quantile(0.5, "vllm:kv_block_lifetime_seconds"))],
                    unit="s",
                ),
                Panel(
                    "Gap between uses, median",
                    "Between two hits of a block, of the same sample, known once the block is evicted.",
                    [Query(quantile(0.5, "vllm:kv_block_reuse_gap_seconds"))],
                    unit="s",
                ),
            ],
        ),
    ],
)
