"""What a patched vLLM calls: once when it loads its metrics, once for the class of its block pools.

Inert unless ``COMPUTECACHE_MODE`` is set. The version and the functions relied on were checked when the
source was patched.
"""

from __future__ import annotations

import logging
import os
from functools import cache
from typing import TypeVar

from keepwarm.vllm.counters import DIRECTORY
from keepwarm.vllm.exposition import expose
from keepwarm.vllm.pool import hook
from keepwarm.vllm.settings import is_asked_for, read_settings
from keepwarm.vllm.startup import Attach, counters_directory

PoolType = TypeVar("PoolType", bound=type)

logger = logging.getLogger("vllm.computecache")


def expose_if_asked() -> None:
    """Let ``/metrics`` of this process show the engines; children inherit where they write. Never raises."""
    try:
        if is_asked_for(os.environ):
            _started()
    except Exception as error:  # noqa: BLE001 - a server starts whatever happens here
        logger.warning("ComputeCache: no metrics: %r", error)


def hook_if_asked(pool_type: PoolType) -> PoolType:
    """Decorates ``BlockPool``: the policy acts on each pool that is made. Never raises."""
    try:
        if is_asked_for(os.environ):
            hook(pool_type, _started())
    except Exception as error:  # noqa: BLE001 - a server starts whatever happens here
        logger.warning("ComputeCache: not installed, stock LRU: %r", error)
    return pool_type


@cache
def _started() -> Attach:
    """Once per process; the first process of a server speaks about settings."""
    speaks = DIRECTORY not in os.environ
    directory = counters_directory()
    reading = read_settings(os.environ)
    for line in reading.warnings if speaks else ():
        logger.warning("ComputeCache: %s", line)
    if directory is not None:
        expose(directory)
    return Attach(reading.settings, directory)
