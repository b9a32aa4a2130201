"""How much memory a session wants: its context, what it asks for beside it, and room to grow."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from keepwarm.scheduling.base import Ticket

GROWTH_TOKENS = 1_600  # that a context grows by until the session is asked about again


def common_blocks(one: Sequence[Hashable], other: Sequence[Hashable]) -> int:
    """Length of the common prefix of two chains of hashes. O(log n): equal at one place, equal before it."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[middle - 1] == other[middle - 1]:
            low = middle
        else:
            high = middle - 1
    return low


class Footprint:
    """What one session wants, in blocks, kept up to date request by request; each event O(log blocks).

    ``context_blocks``: of the newest request that came while none was there, with its answer once that is
    known. Requests that come beside it add what they do not share with it, until they end.
    """

    __slots__ = ("_base", "_beside", "blocks", "context_blocks")

    def __init__(self) -> None:
        self.blocks = 0  # all of it, without room to grow
        self.context_blocks = 0
        self._base: Sequence[Hashable] = ()
        self._beside: dict[Ticket, int] = {}

    def asks(self, ticket: Ticket, *, alone: bool) -> None:
        """A request came; ``alone``: none of the session waits or runs. Mutates."""
        if alone:
            self._base = ticket.lookup_blocks
            self.blocks = self.context_blocks = ticket.need_blocks
            self._beside.clear()
        else:
            own = max(0, ticket.need_blocks - common_blocks(self._base, ticket.lookup_blocks))
            self._beside[ticket] = own
            self.blocks += own

    def ended(self, ticket: Ticket) -> None:
        """A request is over, or given up. Mutates."""
        self.blocks -= self._beside.pop(ticket, 0)

    def rests(self, context_blocks: int) -> None:
        """No request is left, and this is how long the context is. Mutates."""
        self.blocks = self.context_blocks = context_blocks
        self._base = ()
