"""What goes wrong inside a hook: counted, logged once per kind; after so many the policy is put away."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable

from keepwarm.vllm.counters import Counters

logger = logging.getLogger("vllm.computecache")  # below vLLM's own logger, so that its handlers print it


class PinnedError(Exception):
    """A block in the free list has references."""


class Faults:
    """Of one pool. ``trip`` is called once, when ``limit`` faults have been noted; vLLM goes on as stock.

    ``system`` is whose policy it is, for the log.
    """

    system = "ComputeCache"

    def __init__(self, counters: Counters, limit: int, trip: Callable[[], None]) -> None:
        self._counters = counters
        self._left = limit
        self._trip = trip
        self._logged: set[str] = set()

    def note(self, kind: str, error: object) -> None:
        """Count a fault of one of ``FAULT_KINDS``. Never raises."""
        with contextlib.suppress(Exception):
            kind = "pinned" if isinstance(error, PinnedError) else kind
            self._counters.add(f"fault_{kind}")
            if kind not in self._logged:
                self._logged.add(kind)
                logger.warning(
                    "%s: fault of kind '%s', vLLM's own order is kept: %s. More are only counted.",
                    self.system,
                    kind,
                    error if isinstance(error, str) else repr(error),
                )
        self._left -= 1
        if self._left == 0:
            with contextlib.suppress(Exception):
                self._trip()
