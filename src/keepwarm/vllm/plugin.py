"""The entry point ``vllm.general_plugins`` of keepwarm: vLLM calls ``register`` in each of its processes.

Inert unless ``COMPUTECACHE_MODE``, ``KEEPWARM_EVICTION`` or ``KEEPWARM_SCHEDULING`` is set. Then two things
of vLLM are replaced, the constructor of ``BlockPool`` and the choice of the scheduler's class, each only if
the version and the fingerprints are those this was written for. The first process of a server makes the
directory of the counters and warns about settings; the engine, which makes pool and scheduler, prints what is
in effect.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from functools import cache
from typing import Any

from keepwarm.vllm import fingerprints
from keepwarm.vllm.counters import DIRECTORY
from keepwarm.vllm.exposition import expose
from keepwarm.vllm.pool import hook
from keepwarm.vllm.serving.settings import (
    ServingReading,
    is_serving_asked_for,
    pool_environ,
    read_serving_settings,
    wants_cachewise,
)
from keepwarm.vllm.settings import is_asked_for, read_settings
from keepwarm.vllm.startup import Attach, counters_directory

logger = logging.getLogger("vllm.computecache")


@cache
def register() -> None:
    """Hook vLLM as the environment asks. Never raises; a second call in one process does nothing."""
    speaks = DIRECTORY not in os.environ
    try:
        environ = pool_environ(os.environ)
        if is_asked_for(environ):
            _register(environ, by_session=wants_cachewise(os.environ), speaks=speaks)
    except Exception as error:  # noqa: BLE001 - a server starts whatever happens here
        logger.warning("ComputeCache: not installed, stock LRU: %r", error)
    try:
        if is_serving_asked_for(os.environ):
            _register_scheduler(read_serving_settings(os.environ), speaks=speaks)
    except Exception as error:  # noqa: BLE001 - a server starts whatever happens here
        logger.warning("CacheWise: not installed, stock scheduling: %r", error)


def _register(environ: Mapping[str, str], *, by_session: bool, speaks: bool) -> None:
    from vllm import __version__
    from vllm.v1.core import block_pool, kv_cache_manager, kv_cache_utils

    if hasattr(block_pool, "computecache"):
        logger.info("ComputeCache: it is in vLLM's source already; the plugin leaves it to that")
        if by_session and speaks:
            logger.warning("CacheWise: evicts nothing, vLLM's source was patched with ComputeCache")
        return
    directory = counters_directory()
    reading = read_settings(environ)
    modules = {fingerprints.BLOCK_POOL: block_pool, fingerprints.KV_CACHE_UTILS: kv_cache_utils}
    expected = fingerprints.FINGERPRINTS
    if by_session:
        from keepwarm.vllm.eviction import KV_CACHE_MANAGER, MANAGER_FINGERPRINTS, hook_eviction

        modules[KV_CACHE_MANAGER] = kv_cache_manager
        expected = expected | MANAGER_FINGERPRINTS
    reason = _why_not(str(__version__), modules, expected)
    if speaks:
        for line in reading.warnings:
            logger.warning("ComputeCache: %s", line)
        if reason:
            logger.warning("ComputeCache: not installed, stock LRU: %s", reason)
    if not reason:
        if directory is not None:
            expose(directory)
        if by_session:
            hook_eviction(block_pool.BlockPool, kv_cache_manager.KVCacheManager, reading.settings, directory)
        else:
            hook(block_pool.BlockPool, Attach(reading.settings, directory))


def _register_scheduler(reading: ServingReading, *, speaks: bool) -> None:
    from keepwarm.vllm.hints.metadata import hook_requests
    from keepwarm.vllm.serving.default import make_default
    from keepwarm.vllm.serving.exposition import expose_serving
    from keepwarm.vllm.serving.relied_on import why_not_default_class

    if speaks:
        for line in reading.warnings:
            logger.warning("CacheWise: %s", line)
    if not reading.settings.knows_sessions:
        return
    reason = why_not_default_class()
    if reason:
        if speaks:
            logger.warning("CacheWise: not installed, stock scheduling: %s", reason)
        return
    directory = counters_directory()
    if directory is not None:
        expose_serving(directory)
    make_default()
    hook_requests()


def _why_not(version: str, modules: dict[str, Any], expected: dict[str, dict[str, str]]) -> str | None:
    if version.partition("+")[0] != fingerprints.VERSION:
        return f"vLLM is {version}, this is for {fingerprints.VERSION}"
    wrong = fingerprints.differences(modules, expected)
    return f"other source than that of vLLM {fingerprints.VERSION}: {', '.join(wrong)}" if wrong else None
