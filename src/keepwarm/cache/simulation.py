"""What a cache simulation is: rows by policy and capacity, with the ceiling that no capacity lifts."""

from __future__ import annotations

import msgspec

from keepwarm.cache.ceiling import Ceiling
from keepwarm.cache.curve import Curve
from keepwarm.cache.sampling import SampledCurve
from keepwarm.cache.sizing import Sizing
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
    """The cache that all rows share.

    ``distinct_blocks`` are the contents that the trace names; ``bytes_per_block`` what a block takes on one
    GPU, None where the model is not known.
    """

    block_size: int
    match_unit_tokens: int
    ignore_output: bool
    bytes_per_block: int | None
    distinct_blocks: int
    largest_prompt_blocks: int


class ServerSize(Sizing, frozen=True, kw_only=True):
    """The same as a sentence, too."""

    summary: str


class RecordedEvents(msgspec.Struct, frozen=True, kw_only=True):
    """What a recording of KV events holds; see ``keepwarm.cache.kv_events.KvEventCounts``."""

    path: str
    stored_blocks: int
    removed_blocks: int
    clears: int
    peak_resident_blocks: int
    unseen_removed_blocks: int
    other_medium_events: int
    skipped_events: int
    first_reason: str | None


class ReuseAfterEviction(msgspec.Struct, frozen=True, kw_only=True):
    """How soon evicted blocks were asked for again, counted in blocks handed out in between.

    Quantiles over ``evicted_then_requested_blocks``, read from a histogram by powers of two: each is the
    upper end of its bin, so less than twice the exact figure.
    """

    p50_blocks: int
    p90_blocks: int
    p99_blocks: int


class ReuseHistogram(msgspec.Struct, frozen=True, kw_only=True):
    """The same whole: evicted ``blocks`` asked for again within ``up_to_blocks``, by powers of two.

    Bin ``i`` counts from ``up_to_blocks[i - 1] + 1`` on, the first from 1; the last bin is not empty.
    ``blocks`` add up to ``evicted_then_requested_blocks``.
    """

    up_to_blocks: tuple[int, ...]
    blocks: tuple[int, ...]


class IfFixed(msgspec.Struct, frozen=True, kw_only=True):
    """The trace as if ``findings`` of its diagnosis were repaired: those whose repair changes prompts.

    The ``curve`` has the capacities of the recorded one, as far as they hold the largest prompt. Simulated.
    """

    ceiling: Ceiling
    curve: Curve | None
    findings: tuple[str, ...]


class WorstRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request on which record and simulation differ, by the line of the file that it was read from."""

    line: int
    recorded_tokens: int
    simulated_tokens: int


class HitResidual(msgspec.Struct, frozen=True, kw_only=True):
    """Recorded ``cached_tokens`` against simulated hits, over the requests that recorded them.

    ``residual_tokens`` is recorded less simulated: positive where the server hit more.
    """

    requests: int
    query_tokens: int
    recorded_tokens: int
    simulated_tokens: int
    residual_tokens: int
    equal_requests: int
    worst: tuple[WorstRequest, ...]


class EventResidual(msgspec.Struct, frozen=True, kw_only=True):
    """Recorded KV events against simulated ones; residuals are recorded less simulated."""

    simulated_stored_blocks: int
    simulated_evicted_blocks: int
    stored_residual_blocks: int
    evicted_residual_blocks: int


class SimulationRow(msgspec.Struct, frozen=True, kw_only=True):
    """One policy at one capacity. All figures are simulated.

    ``evicted_blocks`` counts hashes removed; ``evicted_then_requested_blocks`` blocks that a request asked
    for and that had been cached and evicted before; ``cut_answers`` requests whose answer outgrew the
    capacity and ended there. ``kv_gib``: memory of one GPU for so many blocks, where the model is known.
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
    reuse_after_eviction_histogram: ReuseHistogram | None = None  # None as well
    kv_gib: float | None = None
    recorded_hits: HitResidual | None = None  # None: the trace records none
    recorded_events: EventResidual | None = None  # None: no recording was given


class Simulation(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of ``simulate_cache``. ``rows`` go policy by policy, capacities in the order asked for."""

    schema: str = "keepwarm.cache-sim/1"
    input: InputInfo
    encoding: EncodingInfo
    cache: CacheInfo
    server: ServerSize | None
    kv_events: RecordedEvents | None
    ceiling: Ceiling
    rows: tuple[SimulationRow, ...]  # none where a sample was asked for
    curve: Curve | None = None
    sampled_curve: SampledCurve | None = None
    if_fixed: IfFixed | None = None
