"""The compiled cache model: whole traces through flat arrays, event for event what the reference does."""

from __future__ import annotations

from keepwarm.cache.kernels.independent import run_independent_lru
from keepwarm.cache.kernels.run import KernelRun, kernel_policies, run_kernel

__all__ = ["KernelRun", "kernel_policies", "run_independent_lru", "run_kernel"]
