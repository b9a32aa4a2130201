"""One kind of result per file. To add one: copy the smallest neighbour and list it here."""

from __future__ import annotations

from keepwarm.api.library.kinds.base import Head
from keepwarm.api.library.kinds.cache_simulation import CacheSimulationHead
from keepwarm.api.library.kinds.canary import CanaryHead
from keepwarm.api.library.kinds.comparison import ComparisonHead
from keepwarm.api.library.kinds.diagnosis import DiagnosisHead
from keepwarm.api.library.kinds.replay import ReplayHead
from keepwarm.api.library.kinds.serving_simulation import ServingSimulationHead
from keepwarm.api.library.kinds.task import TaskHead
from keepwarm.api.library.kinds.timeline import TimelineHead
from keepwarm.api.library.kinds.tuning import TuningHead
from keepwarm.api.library.kinds.verdict import VerdictHead

KINDS: dict[str, type[Head]] = {
    head.schema_name: head
    for head in (
        DiagnosisHead,
        CacheSimulationHead,
        ServingSimulationHead,
        TimelineHead,
        TaskHead,
        VerdictHead,
        ReplayHead,
        ComparisonHead,
        CanaryHead,
        TuningHead,
    )
}
"""Every kind by the schema of its document."""
