"""The entry point ``vllm.general_plugins`` of keepwarm: vLLM calls ``register`` in each of its processes.

Inert unless ``COMPUTECACHE_MODE`` is set. Then one thing of vLLM is replaced, the constructor of ``BlockPool``, and
only if the version and the fingerprints are those this was written for. The first process of a server makes the
directory of the counters and speaks about settings; the engine, which makes the pool, prints what is in effect.
"""

from __future__ import annotations

import atexit
import logging
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from keepwarm.vllm import counters, fingerprints
from keepwarm.vllm.exposition import expose
from keepwarm.vllm.pool import attach, wrap_constructor
from keepwarm.vllm.settings import Settings, is_asked_for, read_settings

logger = logging.getLogger("vllm.computecache")


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

    if hasattr(block_pool.BlockPool.__init__, "__wrapped__"):
        return
    speaks = counters.DIRECTORY not in os.environ
    directory = _counters_directory()
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
        wrap_constructor(block_pool.BlockPool, _Attach(reading.settings, directory))


def _why_not(version: str, modules: dict[str, Any]) -> str | None:
    if version.partition("+")[0] != fingerprints.VERSION:
        return f"vLLM is {version}, this is for {fingerprints.VERSION}"
    wrong = fingerprints.differences(modules)
    return f"other source than that of vLLM {fingerprints.VERSION}: {', '.join(wrong)}" if wrong else None


def _counters_directory() -> Path | None:
    """Where the engines of this server write; the process that made it removes it. None if that is impossible."""
    if counters.DIRECTORY not in os.environ:
        try:
            os.environ[counters.DIRECTORY] = tempfile.mkdtemp(prefix="computecache-")
        except OSError as error:
            logger.warning("ComputeCache: no metrics, a temporary directory cannot be made: %s", error)
            return None
        atexit.register(_remove, os.environ[counters.DIRECTORY], os.getpid())
    return Path(os.environ[counters.DIRECTORY])


def _remove(directory: str, maker: int) -> None:
    if os.getpid() == maker:  # a forked child inherits this
        shutil.rmtree(directory, ignore_errors=True)


class _Attach:
    """Attaches every pool of this process, all to the same counters."""

    def __init__(self, settings: Settings, directory: Path | None) -> None:
        self._settings = settings
        self._directory = directory
        self._counters: counters.Counters | None = None

    def __call__(self, pool: Any) -> None:
        try:
            if self._counters is None:
                self._counters = self._open()
            attach(pool, self._settings, self._counters)
        except Exception as error:  # noqa: BLE001 - a server starts whatever happens here
            logger.warning("ComputeCache: a pool was left as it is, stock LRU: %r", error)

    def _open(self) -> counters.Counters:
        if self._directory is not None:
            try:
                return counters.shared_counters(self._directory)
            except OSError as error:
                logger.warning("ComputeCache: no metrics, the counters cannot be shared: %s", error)
        return counters.private_counters()
