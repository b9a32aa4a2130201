"""The rows of runs, in processes of their own; each loads the trace once."""

from __future__ import annotations

import gc
import multiprocessing
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache

import msgspec

from bench.cachewise import store
from bench.cachewise.plan import Run
from bench.traces import AGENT_SESSIONS, TOOL_DURATIONS
from keepwarm.reuse.durations.read import read_durations
from keepwarm.reuse.fit import FitOptions, fit
from keepwarm.reuse.predictor import ReuseModel, ToolModel
from keepwarm.scheduling.active_set import ActiveSet
from keepwarm.scheduling.base import QueueOrder
from keepwarm.serving.base import RequestState
from keepwarm.serving.costs import Roofline
from keepwarm.serving.options import Population, ServingOptions
from keepwarm.serving.profile import Profile, load_profile
from keepwarm.serving.row import Row
from keepwarm.serving.simulate import simulate
from keepwarm.workload.base import Workload
from keepwarm.workload.commands import Attached, Gaps, attach_commands
from keepwarm.workload.load import load_workload

PROFILE = "2xh200-32b"
RECORDER_LIMIT_S = 30.0  # the recorder of the tool durations ended calls then


def compute(runs: Sequence[Run], processes: int) -> None:
    """Compute and store those that are not stored yet."""
    stored = store.load()
    for run, row in computed([run for run in runs if run not in stored], processes):
        store.append(run, row)


def computed(runs: Sequence[Run], processes: int) -> Iterator[tuple[Run, Row]]:
    """Each run with its row, as they come; standard error says how far it is."""
    context = multiprocessing.get_context("spawn")  # a fork of a process with threads may hang
    with ProcessPoolExecutor(processes, context) as pool:
        futures = {pool.submit(row_of, run): run for run in runs}
        for done, future in enumerate(as_completed(futures), 1):
            yield futures[future], future.result()
            print(f"{done} of {len(runs)}: {futures[future]}", file=sys.stderr, flush=True)


def row_of(run: Run) -> Row:
    """One run, from scratch but for the trace."""
    attached = _attached(run.gaps)
    gc.collect()
    gc.freeze()  # a third of a run would go into looking at the trace again and again
    gc.disable()
    workload = attached.workload
    return _simulated(run, workload if run.answer_tokens is None else _answering(workload, run.answer_tokens))


def _answering(workload: Workload, most_tokens: int) -> Workload:
    """The same requests with shorter answers; contexts stay what they are."""
    sessions = [
        session._replace(
            turns=[
                turn._replace(output_tokens=min(turn.output_tokens, most_tokens)) for turn in session.turns
            ]
        )
        for session in workload.sessions
    ]
    return workload._replace(sessions=sessions)


def _simulated(run: Run, workload: Workload) -> Row:
    options = ServingOptions(
        profile=_profile(run.costs),
        scheduling=run.scheduling,
        eviction=run.eviction,
        sessions=run.sessions,
        seed=run.seed,
        step_tokens=run.step_tokens,
        capacity_tokens=run.capacity_tokens,
        gap_scale=run.gap_scale,
        population=Population(run.population),
        host_memory_gib=run.host_memory_gib,
        reuse_model=_model(run.gaps, run.ladder, run.gap_scale) if run.eviction == "cachewise" else None,
        n_rebuild=run.n_rebuild,
    )
    order: type[QueueOrder[RequestState]] | None = None
    if run.gamma is not None:
        order = ActiveSet.tuned(ActiveSet.tuning._replace(gamma=run.gamma))
    return simulate(workload, options, order=order)


@cache
def _profile(costs: str) -> Profile:
    profile = load_profile(PROFILE)
    if costs == "roofline":
        return profile
    assert isinstance(profile.costs, Roofline)
    model = msgspec.structs.replace(profile.costs.model, attention_heads=0)
    return msgspec.structs.replace(profile, costs=msgspec.structs.replace(profile.costs, model=model))


@cache
def _attached(gaps: str) -> Attached:
    durations = read_durations([TOOL_DURATIONS], RECORDER_LIMIT_S).durations
    return attach_commands(load_workload(AGENT_SESSIONS), durations, gaps=Gaps(gaps))


@cache
def _model(gaps: str, ladder: str, gap_scale: float) -> ReuseModel:
    """Fitted on the tasks of which no session of the workload has a command, in the gaps of the run."""
    clusters = int(ladder[1:]) if ladder.startswith("C") else 1
    training = [one._replace(duration_s=one.duration_s * gap_scale) for one in _attached(gaps).training]
    model = fit(training, FitOptions(clusters=clusters))
    if ladder.startswith("C"):
        return model
    tools = {name: ToolModel(tool.curve) for name, tool in model.tools.items()} if ladder == "tool" else {}
    return ReuseModel(model.fitted, model.curve, tools)
