"""The compiled cache model: whole traces through flat arrays, event for event what the reference does.

``frame.py`` is the replay loop, ``pool.py`` the block pool, ``lists.py`` linked lists of slots, and one file
per policy brings the operations that ``operations.py`` describes. They are plain Python functions over
NamedTuples of arrays; ``compile.py`` puts a policy's operations into the loop and compiles the whole with
numba when it is first needed. A test compares every kernel with its policy class.

To add a policy, copy ``lru.py``, and register its ``KERNEL`` in ``run.py``:

- ``new_state(setup, **parameters)`` returns a NamedTuple of arrays and integers. Whatever changes lives in an
  array; always the same dtypes, or numba compiles it twice.
- ``on_hits`` and ``on_free`` get all blocks of a request at once, ``pool.table[:blocks]`` in prompt order;
  they have to come to what the class comes to block by block. ``on_free`` goes through them last one first.
- Import what you call by name (``from ...lists import append_table``): functions are found among a module's
  globals. An operation's helpers get other names than the operations.
- Operations cannot make arrays: whatever they need is part of the state.
- Integers that come from arrays may be 32 bits wide: mind products and sums of counters.
- Leave out ``on_admit``, ``on_allocate``, ``on_evict`` and ``on_cache`` where the policy has no use for them.
"""

from __future__ import annotations

from keepwarm.cache.kernels.extent import extent_of
from keepwarm.cache.kernels.footprint import replay_bytes
from keepwarm.cache.kernels.independent import run_independent_lru
from keepwarm.cache.kernels.run import KernelRun, kernel_policies, run_kernel

__all__ = [
    "KernelRun",
    "extent_of",
    "kernel_policies",
    "replay_bytes",
    "run_independent_lru",
    "run_kernel",
]
