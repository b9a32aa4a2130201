"""The pressure workload: does a hot prefix survive a flood of one-use prompts on a running vLLM?"""

from __future__ import annotations

from keepwarm.canary.pressure.options import DEFAULT_FLOOD, PressureOptions
from keepwarm.canary.pressure.report import (
    Counters,
    Failure,
    HotReplay,
    PressureReport,
    PressureStep,
    Ttft,
)
from keepwarm.canary.pressure.run import run_pressure

__all__ = [
    "DEFAULT_FLOOD",
    "Counters",
    "Failure",
    "HotReplay",
    "PressureOptions",
    "PressureReport",
    "PressureStep",
    "Ttft",
    "run_pressure",
]
