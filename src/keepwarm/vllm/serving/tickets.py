"""vLLM's requests as tickets of a queue order, and what the queue needs of the scheduler it stands in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from keepwarm.scheduling.base import QueueOrder, Ticket


@dataclass(slots=True, eq=False)
class RequestTicket(Ticket):
    """One of vLLM's requests. ``place`` is where vLLM's queue would have it, smallest first."""

    request: Any = None
    place: int = 0
    prefilled: bool = False

    def update(self, block_size: int) -> None:
        """Take over what the request is by now: its known tokens, and which of their blocks it could hit."""
        request = self.request
        self.need_blocks = -(-request.num_tokens // block_size)
        asked = 0 if request.skip_reading_prefix_cache else (request.num_tokens - 1) // block_size
        self.lookup_blocks = request.block_hashes[:asked]


class Host(NamedTuple):
    """What the queue needs of the scheduler it stands in.

    ``is_ready`` tries whether a request that was blocked can run by now, ``is_busy`` whether any runs,
    ``is_full`` whether no more may.
    """

    new_order: Callable[[], QueueOrder[RequestTicket]]
    new_ticket: Callable[[Any], RequestTicket]
    is_ready: Callable[[Any], bool]
    is_busy: Callable[[], bool]
    is_full: Callable[[], bool]
    block_size: int
