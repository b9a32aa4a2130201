"""Eviction policies, one per file, standard library only."""

from __future__ import annotations

from keepwarm.policies.base import VictimOrder
from keepwarm.policies.lru import Lru

POLICIES: dict[str, type[VictimOrder]] = {policy.name: policy for policy in (Lru,)}
"""Every policy by its name, as given on the command line."""
