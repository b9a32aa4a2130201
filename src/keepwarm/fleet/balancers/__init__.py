"""The balancers by name."""

from __future__ import annotations

from keepwarm.fleet.balancers.base import Balancer
from keepwarm.fleet.balancers.least_loaded import LeastLoaded
from keepwarm.fleet.balancers.longest_prefix import LongestPrefix
from keepwarm.fleet.balancers.prefix_bounded import PrefixBounded
from keepwarm.fleet.balancers.round_robin import RoundRobin
from keepwarm.fleet.balancers.sticky import Sticky

BALANCERS: dict[str, type[Balancer]] = {
    balancer.name: balancer for balancer in (RoundRobin, LeastLoaded, Sticky, LongestPrefix, PrefixBounded)
}
"""Every balancer by its name, as given on the command line."""
