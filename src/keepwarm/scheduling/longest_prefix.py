"""Longest cached prefix first: most hit tokens, ties by arrival.

What serving engines with a radix tree offer as longest-prefix-match (SGLang's ``lpm``). It has no bound
either, and does not see what a request costs: a long prompt with a long miss goes before a short one.
"""

from __future__ import annotations

from keepwarm.scheduling.base import T
from keepwarm.scheduling.priced import PricedOrder


class LongestPrefix(PricedOrder[T]):
    """A heap by hit blocks. O(log n) per change; at most 8 waiters are looked at per step."""

    name = "longest-prefix"

    def price(self, ticket: T) -> float:
        return -ticket.hit_blocks
