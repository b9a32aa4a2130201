"""What goes wrong in CacheWise: counted, logged once per kind; after so many the order is put away."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable

from keepwarm.vllm.serving.counters import ServingCounters

logger = logging.getLogger("vllm.cachewise")  # below vLLM's own logger, so that its handlers print it


class ServingFaults:
    """Of one engine. ``on_trip`` are called once, when ``limit`` faults have been noted."""

    def __init__(self, counters: ServingCounters, limit: int) -> None:
        self._counters = counters
        self._left = limit
        self._logged: set[str] = set()
        self.on_trip: list[Callable[[], None]] = []

    @property
    def tripped(self) -> bool:
        """Whether there were too many: nothing of ours acts any more."""
        return self._left <= 0

    def note(self, kind: str, error: object, consequence: str = "vLLM's own order is kept") -> None:
        """Count a fault of one of ``SERVING_FAULT_KINDS``. Never raises."""
        with contextlib.suppress(Exception):
            self._counters.add(f"fault_{kind}")
            self._counters.publish()
            if kind not in self._logged:
                self._logged.add(kind)
                logger.warning(
                    "CacheWise: fault of kind '%s', %s: %s. More are only counted.",
                    kind,
                    consequence,
                    error if isinstance(error, str) else repr(error),
                )
        self._left -= 1
        if self._left == 0:
            self._trip()

    def _trip(self) -> None:
        logger.warning("CacheWise: too many faults, it is put away until restart: stock order from here")
        for put_away in self.on_trip:
            with contextlib.suppress(Exception):
                put_away()
        with contextlib.suppress(Exception):
            self._counters.set("put_away", 1)
            self._counters.publish()
