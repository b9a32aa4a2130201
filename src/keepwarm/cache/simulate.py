"""From a trace file to the table: load, check what was asked for, replay each policy at each capacity."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec

from keepwarm._errors import InputError
from keepwarm._progress import Progress, Silent
from keepwarm._resources import Resources
from keepwarm._spill import run_folder
from keepwarm.cache.bounded import Bounded
from keepwarm.cache.choices import (
    check_capacities,
    check_fit,
    check_sample,
    chosen_match_unit_blocks,
    chosen_policies,
    default_capacities,
)
from keepwarm.cache.curve import Curve, hit_rate_curve
from keepwarm.cache.kv_events import KvEventCounts, read_kv_events
from keepwarm.cache.load import LoadedTrace, load_trace
from keepwarm.cache.opened import open_requests
from keepwarm.cache.options import SimulateOptions
from keepwarm.cache.rows import Cell, RowMaker
from keepwarm.cache.sampling import sampled_lru_curve
from keepwarm.cache.server import Server, check_server, read_server
from keepwarm.cache.simulation import (
    CacheInfo,
    InputInfo,
    RecordedEvents,
    Simulation,
    SimulationRow,
)
from keepwarm.cache.spilled import load_spilled, run_key
from keepwarm.cache.store import TraceStore, store_folder
from keepwarm.policies.belady import Belady


def simulate_cache(
    path: str | os.PathLike[str],
    options: SimulateOptions | None = None,
    progress: Progress | None = None,
    *,
    resources: Resources | None = None,
    on_resume: Callable[[Path], None] = lambda _: None,
) -> Simulation:
    """Replay a trace through caches of several sizes and policies: who hits how much, and what is lost.

    Requests go one after another in recorded order, each finished and freed before the next. All
    figures are simulated. With a budget of memory in ``resources`` the store is not used; ``on_resume`` is
    told the folder of an earlier run that was interrupted.

    Raises:
        InputError: the trace, the template or the tokenizer cannot be used, a policy is unknown, a
            capacity is below one request, or the budget cannot be kept; says what and where.
        Interrupted: Ctrl-C within a budget; what was done is kept.
    """
    options = options or SimulateOptions()
    heard = progress or Silent()
    asked = _checked(options)
    if resources is None or resources.memory_bytes is None:
        folder = store_folder() if options.store else None
        store = None if folder is None else TraceStore(folder)
        return _simulated(load_trace(path, options, store=store, progress=heard), asked, heard)
    opened = open_requests(path, options, heard)
    with run_folder(resources, run_key(opened, options)) as run:
        if run.found:
            on_resume(run.path)
        bounded = Bounded(resources.memory_bytes, run)
        return _simulated(load_spilled(opened, options, bounded), asked, heard, bounded)


class _Asked(NamedTuple):
    """What was asked for, checked as far as that goes without the trace."""

    options: SimulateOptions
    policies: tuple[str, ...]
    kv_events: KvEventCounts | None


def _checked(options: SimulateOptions) -> _Asked:
    policies = chosen_policies(options.policies)
    check_capacities(options.capacities_blocks)
    check_sample(options.sample, options.policies, options.kv_events)
    if options.server is not None:
        check_server(options.server)
    kv_events = None if options.kv_events is None else read_kv_events(Path(options.kv_events))
    return _Asked(options, policies, kv_events)


def _simulated(
    loaded: LoadedTrace, asked: _Asked, heard: Progress, bounded: Bounded | None = None
) -> Simulation:
    options, policies, kv_events = asked
    server = None if options.server is None else read_server(options.server, loaded.dense.block_size)
    maker = RowMaker(
        loaded=loaded,
        ignore_output=options.ignore_output,
        match_unit_blocks=_match_unit_blocks(loaded, options, server),
        kv_gib=None if server is None else server.kv_gib,
        kv_events=kv_events,
        bounded=bounded,
    )
    capacities = _capacities(loaded, options, server)
    simulation = _without_rows(maker, server, _recorded_events(kv_events, options.kv_events))
    if options.sample is not None:
        return _sampled(simulation, maker, capacities, options.sample, heard)
    sizes = capacities or _usual_capacities(maker)
    cells = [Cell(policy, capacity) for policy in policies for capacity in sizes]
    maker.model.check_room(cells)
    rows = tuple(_heard(maker.rows(cells, options.threads), len(cells), heard))
    curve = _curve(maker, policies, options.threads, heard) if options.curve else None
    return msgspec.structs.replace(simulation, rows=rows, curve=curve)


def _heard(rows: Iterable[SimulationRow], total: int, progress: Progress) -> Iterator[SimulationRow]:
    progress.stage("simulating", total)
    for row in rows:
        yield row
        progress.advance()


def _sampled(
    simulation: Simulation, maker: RowMaker, capacities: Sequence[int], rate: float, progress: Progress
) -> Simulation:
    trace = maker.loaded.dense
    if maker.match_unit_blocks > 1:
        raise InputError(
            f"a sample knows no match unit, and here hits are multiples of {maker.match_unit_blocks} blocks; "
            "leave --sample out"
        )
    progress.stage("sampling", None)
    curve = sampled_lru_curve(
        trace,
        capacities or maker.model.capacity_grid(),
        rate=rate,
        ignore_output=maker.ignore_output,
        check_room=None if maker.bounded is None else partial(maker.bounded.check, f"a sample of {rate:g}"),
    )
    return msgspec.structs.replace(simulation, sampled_curve=curve)


def _curve(maker: RowMaker, policies: Sequence[str], threads: int | None, progress: Progress) -> Curve:
    """Of the policies asked for, and of the offline optimum that bounds them."""
    with_bound = tuple(dict.fromkeys((*policies, Belady.name)))
    return hit_rate_curve(maker.model, with_bound, threads=threads, progress=progress)


def _usual_capacities(maker: RowMaker) -> list[int]:
    return list(
        default_capacities(
            maker.loaded.dense,
            ignore_output=maker.ignore_output,
            match_unit_blocks=maker.match_unit_blocks,
        )
    )


def _match_unit_blocks(loaded: LoadedTrace, options: SimulateOptions, server: Server | None) -> int:
    block_size = loaded.dense.block_size
    if options.match_unit_tokens is None and server is not None:
        return server.model.hit_unit_tokens(block_size) // block_size
    return chosen_match_unit_blocks(options.match_unit_tokens, block_size)


def _capacities(loaded: LoadedTrace, options: SimulateOptions, server: Server | None) -> list[int]:
    """What was asked for, and what the server has; empty if neither is given."""
    capacities = list(options.capacities_blocks)
    if server is not None and server.size is not None and server.size.usable_blocks not in capacities:
        capacities.append(server.size.usable_blocks)
    if capacities:
        check_fit(loaded, capacities)
    return capacities


def _recorded_events(counts: KvEventCounts | None, path: str | None) -> RecordedEvents | None:
    if counts is None or path is None:
        return None
    return RecordedEvents(
        path=path,
        stored_blocks=counts.stored_blocks,
        removed_blocks=counts.removed_blocks,
        clears=counts.clears,
        peak_resident_blocks=counts.peak_resident_blocks,
        unseen_removed_blocks=counts.unseen_removed_blocks,
        other_medium_events=counts.other_medium_events,
        first_reason=counts.first_reason,
        skipped_events=counts.skipped_events,
    )


def _without_rows(maker: RowMaker, server: Server | None, kv_events: RecordedEvents | None) -> Simulation:
    file, trace = maker.loaded.trace, maker.loaded.dense
    unit_blocks = maker.match_unit_blocks
    return Simulation(
        input=InputInfo(
            path=str(file.path),
            sha256=file.sha256,
            format=file.format,
            requests=trace.requests,
            models=maker.loaded.models,
            time_merged=not file.one_clock,
            prompt_texts_known=file.prompt_texts_known,
            prompt_complete=file.prompt_complete,
            skipped=file.skipped,
        ),
        encoding=maker.loaded.encoding,
        cache=CacheInfo(
            block_size=trace.block_size,
            match_unit_tokens=unit_blocks * trace.block_size,
            ignore_output=maker.ignore_output,
            bytes_per_block=None if server is None else server.bytes_per_block(),
            distinct_blocks=trace.distinct_blocks,
            largest_prompt_blocks=trace.largest_prompt_blocks,
        ),
        server=None if server is None else server.size,
        kv_events=kv_events,
        ceiling=maker.model.ceiling(),
        rows=(),
    )
