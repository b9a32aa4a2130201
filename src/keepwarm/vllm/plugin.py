"""The entry point ``vllm.general_plugins`` of keepwarm: vLLM calls ``register`` in each of its processes.

Inert unless ``COMPUTECACHE_MODE`` is set. Then one thing of vLLM is replaced, the constructor of
``BlockPool``, and only if the version and the fingerprints are those this was written for. The first process
of a server makes the directory of the counters and warns about settings; the engine, which makes the pool,
prints what is in effect.
"""

from __future__ import annotations

import logging
import os
from functools import cache
from typing import Any

from keepwarm.vllm import fingerprints
from keepwarm.vllm.counters import DIRECTORY
from keepwarm.vllm.exposition import expose
from keepwarm.vllm.pool import hook
from keepwarm.vllm.settings import is_asked_for, read_settings
from keepwarm.vllm.startup import Attach, counters_directory

logger = logging.getLogger("vllm.computecache")


@cache
def register() -> None:
    """Hook vLLM as the environment asks. Never raises; a second call in one process does nothing."""
    try:
        if is_asked_for(os.environ):
            _register()
    except Exception as error:  # noqa: BLE001 - a server starts whatever happens here
        logger.warning("ComputeCache: not installed, stock LRU: %r", error)


def _register() -> None:
    from vllm import __version__
    from vllm.v1.core import block_pool, kv_cache_utils

    if hasattr(block_pool, "computecache"):
        logger.info("ComputeCache: it is in vLLM's source already; the plugin leaves it to that")
        return
    speaks = DIRECTORY not in os.environ
    directory = counters_directory()
    reading = read_settings(os.environ)
    modules = {fingerprints.BLOCK_POOL: block_pool, fingerprints.KV_CACHE_UTILS: kv_cache_utils}
    reason = _why_not(str(__version__), modules)
    if speaks:
        for line in reading.warnings:
            logger.warning("ComputeCache: %s", line)
        if reason:
            logger.warning("ComputeCache: not installed, stock LRU: %s", reason)
    if not reason:
        if directory is not None:
            expose(directory)
        hook(block_pool.BlockPool, Attach(reading.settings, directory))


def _why_not(version: str, modules: dict[str, Any]) -> str | None:
    if version.partition("+")[0] != fingerprints.VERSION:
        return f"vLLM is {version}, this is for {fingerprints.VERSION}"
    wrong = fingerprints.differences(modules)
    return f"other source than that of vLLM {fingerprints.VERSION}: {', '.join(wrong)}" if wrong else None
