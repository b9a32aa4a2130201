"""The rows of runs, in their order; each process loads the trace once."""

from __future__ import annotations

import gc
import multiprocessing
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache

import msgspec

from bench.fleet import store
from bench.fleet.plan import BALANCERS, Run
from bench.fleet.workload import shortened
from bench.traces import AGENT_SESSIONS, TOOL_DURATIONS
from keepwarm.fleet.options import FleetOptions
from keepwarm.fleet.row import FleetRow
from keepwarm.fleet.simulate import simulate_fleet
from keepwarm.serving.commands import Commanded, with_commands
from keepwarm.serving.options import ServingOptions
from keepwarm.serving.profile import load_profile
from keepwarm.workload.load import load_workload

PROFILE = "2xh200-32b"
CAPACITY_TOKENS = 763_000
STEP_TOKENS = 512
REQUESTS = 10  # of each session: 64 servers of whole sessions are hours a run
BLOCKS_AT_ONCE = 8


def compute(runs: Sequence[Run], processes: int) -> None:
    """Compute and store those that are not stored yet."""
    stored = store.load()
    missing = [run for run in runs if run not in stored]
    for done, (run, row) in enumerate(zip(missing, _rows(missing, processes), strict=True), 1):
        store.append(run, row)
        print(f"{done} of {len(missing)}: {run}", file=sys.stderr, flush=True)


def _rows(runs: Sequence[Run], processes: int) -> Iterator[FleetRow]:
    if processes == 1:
        yield from map(row_of, runs)
        return
    context = multiprocessing.get_context("spawn")  # a fork of a process with threads may hang
    with ProcessPoolExecutor(processes, context) as pool:
        yield from pool.map(row_of, runs)


def row_of(run: Run) -> FleetRow:
    """One run, from scratch but for the trace; without its replicas one by one."""
    workload, model = _commanded()
    server = ServingOptions(
        profile=load_profile(PROFILE),
        scheduling=run.scheduling,
        eviction=run.eviction,
        sessions=run.sessions,
        seed=run.seed,
        step_tokens=STEP_TOKENS,
        capacity_tokens=CAPACITY_TOKENS,
        reuse_model=model,
    )
    fleet = FleetOptions(
        server=server,
        replicas=run.replicas,
        balancer=run.balancer or BALANCERS[0],  # one server has no choice
        load_bound=run.load_bound,
    )
    return msgspec.structs.replace(simulate_fleet(workload, fleet), per_replica=())


@cache
def _commanded() -> Commanded:
    """The workload and what predicts its calls, as ``simulate fleet --tool-durations`` has them."""
    found = with_commands(load_workload(AGENT_SESSIONS), TOOL_DURATIONS, gap_scale=1.0, wants_model=True)
    short = found._replace(workload=shortened(found.workload, REQUESTS, BLOCKS_AT_ONCE))
    gc.collect()
    gc.freeze()  # a third of a run would go into looking at the trace again and again
    return short
