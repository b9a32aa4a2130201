"""Queries and panels that both dashboards show."""

from __future__ import annotations

from scripts.dashboards.model import Panel, Query, per_role, rate

HIT_RATE = f"{rate('vllm:prefix_cache_hits_total')} / {rate('vllm:prefix_cache_queries_total')}"
EVICTED_THEN_REQUESTED = rate("computecache_evicted_then_requested_tokens_total")
MODE = Panel(
    "Mode",
    "What the engines run in, whatever was asked for. The baseline is lru, the canary active.",
    [Query("sum by (role, mode) (computecache_effective_mode) > 0", "{{role}}: {{mode}}")],
    kind="names",
)
TRIPPED = Panel(
    "Tripped",
    "Engines that gave up the policy after too many faults: stock LRU until they restart.",
    [Query(per_role("computecache_tripped"))],
    kind="stat",
    bad_from=1,
)
