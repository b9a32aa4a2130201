"""What a server recorded, set against what was simulated, with the residual shown.

Hits: ``cached_tokens`` of each request that recorded them. Blocks: a recording of vLLM's KV events against
the hashes that the simulation stored and evicted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from keepwarm._errors import InputError
from keepwarm.cache.kv_events import KvEventCounts

_WORST = 10


class RequestResidual(NamedTuple):
    """One request: its index in the trace, and hit tokens as recorded and as simulated."""

    request_index: int
    recorded_tokens: int
    simulated_tokens: int

    @property
    def residual_tokens(self) -> int:
        """Recorded less simulated: positive where the server hit more."""
        return self.recorded_tokens - self.simulated_tokens


class HitComparison(NamedTuple):
    """Over the requests that recorded their hits. ``worst``: the largest residuals, ties in trace order."""

    requests: int
    recorded_tokens: int
    simulated_tokens: int
    equal_requests: int
    worst: tuple[RequestResidual, ...]

    @property
    def residual_tokens(self) -> int:
        """Recorded less simulated, all requests together."""
        return self.recorded_tokens - self.simulated_tokens


def compare_hits(
    recorded_tokens: npt.NDArray[np.int64], simulated_tokens: npt.NDArray[np.int64], *, worst: int = _WORST
) -> HitComparison:
    """Compare hit tokens request by request; both have one entry a request, -1 where nothing was recorded.

    Raises:
        InputError: the two are not of the same requests.
    """
    if recorded_tokens.shape != simulated_tokens.shape:
        raise InputError(
            f"{len(recorded_tokens)} recorded and {len(simulated_tokens)} simulated requests are not of one "
            "trace; simulate the trace that was recorded"
        )
    known = np.flatnonzero(recorded_tokens >= 0)
    recorded, simulated = recorded_tokens[known], simulated_tokens[known]
    residual = recorded - simulated
    largest = np.argsort(-np.abs(residual), kind="stable")[:worst]
    return HitComparison(
        requests=len(known),
        recorded_tokens=int(recorded.sum()),
        simulated_tokens=int(simulated.sum()),
        equal_requests=int(np.count_nonzero(residual == 0)),
        worst=tuple(
            RequestResidual(int(known[index]), int(recorded[index]), int(simulated[index]))
            for index in largest[residual[largest] != 0]
        ),
    )


class EventComparison(NamedTuple):
    """Hashes stored and removed, and blocks resident in the end, by the server and by the simulation.

    Resident blocks are those with a hash, in use or free: stored less removed.
    """

    recorded: KvEventCounts
    simulated_stored_blocks: int
    simulated_evicted_blocks: int

    @property
    def stored_residual_blocks(self) -> int:
        """Recorded less simulated."""
        return self.recorded.stored_blocks - self.simulated_stored_blocks

    @property
    def evicted_residual_blocks(self) -> int:
        """Recorded less simulated."""
        return self.recorded.removed_blocks - self.simulated_evicted_blocks


def compare_events(
    recorded: KvEventCounts, *, stored_blocks: int, evicted_blocks: int, block_size: int
) -> EventComparison:
    """Compare recorded events with a simulation that stored and evicted so many hashes.

    Raises:
        InputError: the server's block size is not the simulation's.
    """
    if recorded.block_size not in (None, block_size):
        raise InputError(
            f"the events are of blocks of {recorded.block_size} tokens, the simulation of {block_size!r}; "
            f"simulate with --block-size {recorded.block_size}, or leave --kv-events out where the trace "
            "brings its own blocks"
        )
    return EventComparison(recorded, stored_blocks, evicted_blocks)
