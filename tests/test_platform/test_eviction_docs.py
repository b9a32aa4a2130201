"""The pages on CacheWise's eviction say what the code counts."""

from __future__ import annotations

from pathlib import Path

from keepwarm.vllm.counters import shared_counters
from keepwarm.vllm.exposition import EVICTION_ORDERS, ComputeCacheCollector
from tests.test_platform.test_vllm_docs import METRICS, Shown, rows


def test_every_metric_is_documented_and_no_other(tmp_path: Path) -> None:
    engine = shared_counters(tmp_path)
    engine.set("by_session", 1)
    engine.set("mode", 2)
    engine.times_ns.append(1)
    engine.publish()
    suffix = {"counter": "_total"}
    families = {
        f"{family.name}{suffix.get(family.type, '')}": family
        for family in ComputeCacheCollector(tmp_path).collect()
    }
    scraped = {
        name: Shown(family.type, frozenset().union(*(sample.labels for sample in family.samples)) - {"le"})
        for name, family in families.items()
    }
    table = rows(METRICS, "| metric of the eviction | type | labels | value |")
    assert scraped == {
        name: Shown(kind, frozenset(label.strip("` ") for label in labels.split(",") if label))
        for name, kind, labels, _ in table
    }
    effective = {sample.labels["eviction"]: sample.value for sample in families[table[0][0]].samples}
    assert effective == {"cachewise": 1, "lru": 0}
    assert list(effective) == list(EVICTION_ORDERS)
