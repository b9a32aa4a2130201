"""How many blocks a waiting request would hit, without a full look-up and without a trace of having asked."""

from __future__ import annotations

from keepwarm.scheduling.base import Server, Ticket


def probe(server: Server, ticket: Ticket, step: int) -> int:
    """Missing blocks of ``ticket`` now, which are also noted in it. O(log of how far residency moved).

    What is cached is taken to be a prefix: a request's last blocks are freed, and lost, first. Where that
    does not hold the answer is an estimate, good enough to order by; the look-up at admission is vLLM's own.
    """
    hashes, is_cached = ticket.lookup_blocks, server.is_cached
    most = len(hashes)
    low, high, stride = 0, most, 1
    at = min(ticket.hit_blocks, most)
    if at and not is_cached(hashes[at - 1]):  # lost since: gallop down
        high = at - 1
        while high > 0 and not is_cached(hashes[max(0, high - stride)]):
            high = max(0, high - stride)
            stride *= 2
        low = max(0, high - stride + 1) if high else 0
    else:  # gallop up
        low = at
        while low < most and is_cached(hashes[min(most - 1, low + stride - 1)]):
            low = min(most, low + stride)
            stride *= 2
        high = min(most, low + stride - 1)
    while low < high:
        middle = (low + high + 1) // 2
        if is_cached(hashes[middle - 1]):
            low = middle
        else:
            high = middle - 1
    ticket.hit_blocks, ticket.probed_at_step = low, step
    return ticket.need_blocks - low
