"""What the plugin would count of predictions, for recorded tool calls that the model was not fitted on.

    python -m scripts.reuse_expected TRACE... [--clusters 20] [--splits 3] [--client-s 0.3] [--slower 1]

The figures of ``keepwarm watch`` to hold a live server against: each held-out call goes through the plugin's
own table of sessions, told while it runs. A call that the recorder cut off counts as over then.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from random import Random

from keepwarm.policies.sessions import SessionId
from keepwarm.reuse.durations.base import ToolDuration
from keepwarm.reuse.durations.read import read_durations
from keepwarm.reuse.estimators.learned import Learned
from keepwarm.reuse.fit import FitOptions, fit
from keepwarm.reuse.predictor import ReuseModel
from keepwarm.reuse.report.held_out import split_by_task
from keepwarm.vllm.serving.counters import ServingCounters, private_serving_counters
from keepwarm.vllm.serving.faults import ServingFaults
from keepwarm.vllm.serving.predictions import PredictedTable

SESSION = SessionId("one")


def counted(
    model: ReuseModel, calls: Sequence[ToolDuration], client_s: float, slower: float
) -> ServingCounters:
    """One session that makes every call, each ``slower`` times as long and the client's own time on top."""
    counters = private_serving_counters()
    faults = ServingFaults(counters, 1)
    table = PredictedTable(Learned(model), 1, counters, faults)
    dice, now_s = Random(1), 0.0
    table.arrived(SESSION, 1, now_s)
    for call in calls:
        table.ended(SESSION, 1, now_s)
        table.doing(SESSION, call.call, now_s)
        now_s += call.duration_s * slower + (dice.expovariate(1 / client_s) if client_s else 0.0)
        table.arrived(SESSION, 1, now_s)
    if faults.tripped:
        raise RuntimeError("a prediction could not be compared")
    return counters


def figures(counters: ServingCounters) -> str:
    """In the words of ``keepwarm watch``."""
    early, middle, late = (counters.get(f"meanwhile_{name}") for name in ("early", "middle", "late"))
    back = early + middle + late
    predicted, real = (counters.get(f"meanwhile_{name}_seconds_millionths") for name in ("predicted", "real"))
    within = sum(counters.get(f"meanwhile_ratio_{bucket}") for bucket in range(4, 10))  # 0.5 to 2
    return (
        f"{back} calls: {early / back:.1%} early, {late / back:.1%} late, {within / back:.1%} within a "
        f"factor of two, predicted by real {predicted / real:.2f} in the sum"
    )


def main() -> int:
    """Print a line for each split."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("trace", nargs="+")
    parser.add_argument("--clusters", type=int, default=20)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--client-s", type=float, default=0.3)
    parser.add_argument("--slower", type=float, default=1.0)
    asked = parser.parse_args()
    durations = read_durations(asked.trace).durations
    for number in range(asked.splits):
        train, held_out = split_by_task(durations, 0.3, Random(f"0/{number}"))
        model = fit(train, FitOptions(clusters=asked.clusters, seed=0))
        print(figures(counted(model, held_out, asked.client_s, asked.slower)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
