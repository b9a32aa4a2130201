"""What a process of vLLM sets up for the policy, whether a plugin or a patched source brought it."""

from __future__ import annotations

import atexit
import logging
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from keepwarm.vllm.counters import DIRECTORY, Counters, private_counters, shared_counters
from keepwarm.vllm.orders import MakeOrder, make_order
from keepwarm.vllm.pool import attach
from keepwarm.vllm.settings import Settings

logger = logging.getLogger("vllm.computecache")


def counters_directory() -> Path | None:
    """Where the engines of this server write; whoever made it removes it. None if it cannot be made."""
    if DIRECTORY not in os.environ:
        try:
            os.environ[DIRECTORY] = tempfile.mkdtemp(prefix="computecache-")
        except OSError as error:
            logger.warning("ComputeCache: no metrics, a temporary directory cannot be made: %s", error)
            return None
        atexit.register(_remove, os.environ[DIRECTORY], os.getpid())
    return Path(os.environ[DIRECTORY])


def _remove(directory: str, maker: int) -> None:
    if os.getpid() == maker:  # a forked child inherits this
        shutil.rmtree(directory, ignore_errors=True)


class Attach:
    """Attaches every pool of this process, all to the same counters."""

    def __init__(
        self, settings: Settings, directory: Path | None, make_order: MakeOrder = make_order
    ) -> None:
        self._settings = settings
        self._directory = directory
        self._make_order = make_order
        self._counters: Counters | None = None

    def __call__(self, pool: Any) -> None:
        """Never raises: a server starts whatever happens here."""
        try:
            if self._counters is None:
                self._counters = self._open()
            attach(pool, self._settings, self._counters, self._make_order)
        except Exception as error:  # noqa: BLE001 - a server starts whatever happens here
            logger.warning("ComputeCache: a pool was left as it is, stock LRU: %r", error)

    def _open(self) -> Counters:
        if self._directory is not None:
            try:
                return shared_counters(self._directory)
            except OSError as error:
                logger.warning("ComputeCache: no metrics, the counters cannot be shared: %s", error)
        return private_counters()
