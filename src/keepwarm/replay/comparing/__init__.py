"""Two measured replays compared: what changed, how sure that is, and what it does not say.

- ``matching``: whether two runs may be compared at all; ``pairing``: which requests belong together
- ``bootstrap``: intervals; ``simulated``: the same requests through keepwarm's own model of the cache
- ``comparison``: what a comparison is, ``keepwarm.comparison/1``; ``boundary``: its limits in words
- ``compare``: all of it, in order; ``files``: its folder; ``page`` and ``terminal`` show it
"""

from __future__ import annotations

from keepwarm.replay.comparing.compare import CompareOptions, compare_runs
from keepwarm.replay.comparing.comparison import Comparison

__all__ = ["CompareOptions", "Comparison", "compare_runs"]
