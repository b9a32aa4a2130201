"""What a cache simulation would say if every finding of the diagnosis were repaired.

The trace is diagnosed, its prompts are laid out anew without the findings' causes, all call sites together,
and replayed in the same order by the same model of the cache. Of findings that no change of prompts removes
(eviction, routing, expiry) nothing is assumed. All of it is simulated.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from keepwarm._errors import InputError
from keepwarm._progress import Progress, Silent
from keepwarm.cache.curve import Curve, hit_rate_curve
from keepwarm.cache.dense import DenseTrace
from keepwarm.cache.intern import intern_requests
from keepwarm.cache.load import replay_order
from keepwarm.cache.model import CacheModel
from keepwarm.cache.options import SimulateOptions
from keepwarm.cache.simulation import IfFixed, Simulation
from keepwarm.diagnose.engine import Examination, examine
from keepwarm.diagnose.options import Options
from keepwarm.diagnose.reorder import Resimulator
from keepwarm.trace.blocks import Encoded


def with_if_fixed(
    simulation: Simulation, options: SimulateOptions, progress: Progress | None = None
) -> Simulation:
    """``simulation``, made with ``options``, and ``if_fixed`` beside it.

    Raises:
        InputError: the trace cannot be read any more, or not as it was.
    """
    heard = progress or Silent()
    examination = examine(
        simulation.input.path,
        Options(
            format=options.format,
            tokenizer=options.tokenizer,
            chat_template=options.chat_template,
            block_size=options.block_size,
        ),
        heard,
    )
    if examination.diagnosis.input.sha256 != simulation.input.sha256:
        raise InputError(f"{simulation.input.path!r} changed while it was read; let its recording end first")
    trace, findings = _fixed_trace(examination, one_clock=not simulation.input.time_merged)
    cache = simulation.cache
    model = CacheModel(trace, cache.ignore_output, cache.match_unit_tokens // cache.block_size)
    curve = None
    if simulation.curve is not None:
        curve = _curve_like(simulation.curve, model, options.threads, heard)
    fixed = IfFixed(ceiling=model.ceiling(), curve=curve, findings=findings)
    return msgspec.structs.replace(simulation, if_fixed=fixed)


def _fixed_trace(examination: Examination, *, one_clock: bool) -> tuple[DenseTrace, tuple[str, ...]]:
    """All requests as laid out without the findings, in the order of replay; and those findings."""
    accounts = examination.accounts
    resimulator = Resimulator(examination)
    changed: dict[int, Encoded] = {}
    reading: frozenset[int] = frozenset()
    repaired: set[str] = set()
    for site in accounts.sites:
        findings = resimulator.removable(site.id)
        if findings:
            relaid = resimulator.relaid(site.id, findings)
            changed |= relaid.changed
            reading |= relaid.reading
            repaired.update(findings)
    traffic = accounts.traffic
    requests = traffic.cache_requests(changed, reading)
    rows = traffic.catalog.rows
    times_s = [float("nan") if row.time_s is None else row.time_s for row in rows]
    order = replay_order([row.line for row in rows], times_s, one_clock=one_clock).tolist()
    trace = intern_requests([requests[place] for place in order], traffic.block_size)
    ids = (finding.id for finding in examination.diagnosis.findings)
    return trace, tuple(id for id in ids if id in repaired)  # noqa: A001 - what it is


def _curve_like(recorded: Curve, model: CacheModel, threads: int | None, progress: Progress) -> Curve:
    """Of the same policies, at those of its capacities that hold the largest prompt."""
    points = recorded.policies[0].points
    capacities: Sequence[int] = [
        point.capacity_blocks
        for point in points
        if point.capacity_blocks >= model.trace.largest_prompt_blocks
    ]
    policies = [policy.policy for policy in recorded.policies]
    return hit_rate_curve(model, policies, capacities_blocks=capacities, threads=threads, progress=progress)
