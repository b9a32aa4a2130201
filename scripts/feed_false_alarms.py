"""How often the change test is wrong on healthy call sites, and how soon it notices a broken prefix.

    python -m scripts.feed_false_alarms [--hours N]

Call sites are those of ``scripts.feed_series``, without the servers; the figures are in
docs/design/online-feed.md.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys

from keepwarm.watch.meters import SiteMeter
from scripts.feed_series import BROKEN, PLANTED_S, STEP_S, CallSites

_HELD_STEPS = 3  # evaluations 15 s apart: the rule waits 30 s
_DROP = 0.1  # the rule's
_HOURS_A_RUN = 4
_RUNS_BROKEN = 40


def main() -> int:
    """Print changes and alerts per hour and call site, and the requests until a broken prefix is an alert."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hours", type=int, default=200)
    hours = parser.parse_args().hours
    changes = alerts = requests = 0
    sites = 1
    for run in range(hours // _HOURS_A_RUN):
        feed = CallSites(random.Random(f"healthy-{run}"), "healthy")
        held: dict[str, int] = {}
        for step in range(_HOURS_A_RUN * 3_600 // STEP_S):
            feed.step(step * STEP_S)
            for meter in feed.meters:
                held[meter.site] = held.get(meter.site, 0) + 1 if _is_down(meter) else 0
                alerts += held[meter.site] == _HELD_STEPS
        changes += sum(sum(one.origins["simulated"].test.changes.values()) for one in feed.meters)
        requests += feed.requests
        sites = len(feed.meters)
    site_hours = hours * sites
    print(f"healthy: {requests} requests, {site_hours} hours of call sites")
    print(f"changes found: {changes}, {changes / site_hours:.4f} per hour and call site")
    print(f"alerts: {alerts}, {alerts / site_hours:.4f} per hour and call site")
    delays = [_delay_s(run) for run in range(_RUNS_BROKEN)]
    print(
        f"broken prefix: alert after {statistics.median(delays):.0f} s in the median, {max(delays)} s at most"
    )
    return 0


def _is_down(meter: SiteMeter) -> bool:
    origin = meter.origins["simulated"]
    reference, last = origin.test.reference, origin.last
    return (
        reference is not None
        and last is not None
        and reference - last > _DROP
        and origin.test.score("down") >= 1
    )


def _delay_s(run: int) -> int:
    feed = CallSites(random.Random(f"broken-{run}"), "prefix")
    held = 0
    for step in range(2 * PLANTED_S // STEP_S):
        feed.step(step * STEP_S)
        broken = next(meter for meter in feed.meters if meter.site == BROKEN)
        held = held + 1 if _is_down(broken) else 0
        if step * STEP_S >= PLANTED_S and held == _HELD_STEPS:
            return step * STEP_S - PLANTED_S
    raise AssertionError(f"run {run}: the broken prefix was never noticed")


if __name__ == "__main__":
    sys.exit(main())
