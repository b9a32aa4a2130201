"""Eviction policies, one per file, standard library only."""

from __future__ import annotations

from keepwarm.policies.base import VictimOrder
from keepwarm.policies.belady import Belady
from keepwarm.policies.cachewise import CacheWise
from keepwarm.policies.computecache import ComputeCache
from keepwarm.policies.computecache_window import ComputeCacheWindow
from keepwarm.policies.lfu import Lfu
from keepwarm.policies.lru import Lru
from keepwarm.policies.s3fifo import S3Fifo
from keepwarm.policies.sessions import SessionVictimOrder
from keepwarm.policies.sieve import Sieve
from keepwarm.policies.slru import Slru

POLICIES: dict[str, type[VictimOrder]] = {
    policy.name: policy
    for policy in (Lru, ComputeCacheWindow, ComputeCache, Slru, S3Fifo, Sieve, Lfu, Belady)
}
"""Every policy that needs nothing but a pool, by its name as given on the command line."""

SESSION_POLICIES: dict[str, type[SessionVictimOrder]] = {policy.name: policy for policy in (CacheWise,)}
"""Every policy that has to be told whose blocks it holds, and when they come back."""
