"""The queue orders by name."""

from __future__ import annotations

from typing import Any

from keepwarm.scheduling.active_set import ActiveSet
from keepwarm.scheduling.base import QueueOrder
from keepwarm.scheduling.cachewise import CacheWise
from keepwarm.scheduling.fcfs import Fcfs
from keepwarm.scheduling.longest_prefix import LongestPrefix

ORDERS: dict[str, type[QueueOrder[Any]]] = {
    order.name: order for order in (Fcfs, LongestPrefix, CacheWise, ActiveSet)
}
"""Every order by its name, as given on the command line; of any kind of ticket."""
