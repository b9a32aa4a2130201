"""What a cache simulation is: rows by policy and capacity, with the ceiling that no capacity lifts."""

from __future__ import annotations

import msgspec

from keepwarm.trace.records import EncodingInfo, Skipped


class InputInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The trace that was replayed.

    ``models`` counts the different ones that requests name. ``time_merged``: sessions without a common
    clock were merged by time since the start of each. ``prompt_complete``: see ``Trace``.
    """

    path: str
    sha256: str
    format: str
    requests: int
    models: int
    time_merged: bool
    prompt_texts_known: bool
    prompt_complete: bool
    skipped: tuple[Skipped, ...]


class CacheInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The cache that all rows share. ``distinct_blocks`` are the contents that the trace names."""

    block_size: int
    match_unit_tokens: int
    ignore_output: bool
    distinct_blocks: int
    largest_prompt_blocks: int


class Ceiling(msgspec.Struct, frozen=True, kw_only=True):
    """Hits of a cache that loses nothing: what no policy and no capacity can exceed. Simulated."""

    query_tokens: int
    hit_tokens: int
    hit_rate: float


class ReuseAfterEviction(msgspec.Struct, frozen=True, kw_only=True):
    """How soon evicted blocks were asked for again, counted in blocks handed out in between.

    Quantiles over ``evicted_then_requested_blocks``, read from a histogram by powers of two: each is the
    upper end of its bin, so less than twice the exact figure.
    """

    p50_blocks: int
    p90_blocks: int
    p99_blocks: int


class SimulationRow(msgspec.Struct, frozen=True, kw_only=True):
    """One policy at one capacity. All figures are simulated.

    ``evicted_blocks`` counts hashes removed; ``evicted_then_requested_blocks`` those of them that a later
    request asked for while they were gone; ``cut_answers`` the requests whose answer outgrew the capacity
    and ended there.
    """

    policy: str
    capacity_blocks: int
    requests: int
    query_tokens: int
    hit_tokens: int
    hit_rate: float
    evicted_blocks: int
    evicted_then_requested_blocks: int
    reuse_after_eviction: ReuseAfterEviction | None  # None: nothing evicted was asked for again
    cut_answers: int


class Simulation(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of ``simulate_cache``. ``rows`` go policy by policy, capacities in the order asked for."""

    schema: str = "keepwarm.cache-sim/1"
    input: InputInfo
    encoding: EncodingInfo
    cache: CacheInfo
    ceiling: Ceiling
    rows: tuple[SimulationRow, ...]
