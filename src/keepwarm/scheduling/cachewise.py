"""Fewest missing blocks first: the request that adds least to what memory has to hold.

With d_i blocks needed and k_i of them cached, admitting request i costs a_i = d_i - k_i; the smallest goes
first, ties by arrival. That is the rule of CacheWise as published, without a bound: while cheaper requests
keep coming a dear one, such as a newcomer or an evicted session, waits. ``active_set.py`` has a bound.
"""

from __future__ import annotations

from keepwarm.scheduling.base import T
from keepwarm.scheduling.priced import PricedOrder


class CacheWise(PricedOrder[T]):
    """A heap by missing blocks. O(log n) per change; at most 8 waiters are looked at per step."""

    name = "cachewise"

    def price(self, ticket: T) -> float:
        return ticket.need_blocks - ticket.hit_blocks
