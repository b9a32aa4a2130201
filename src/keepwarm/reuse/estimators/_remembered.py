"""What estimators that learn while they serve remember: something of each tool, the tools heard of last."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

MOST_TOOLS = 256

V = TypeVar("V")


class ByTool(Generic[V]):
    """One value for each of the last ``MOST_TOOLS`` tools, made by ``make`` when a tool is first heard of."""

    def __init__(self, make: Callable[[], V]) -> None:
        self._make = make
        self._values: OrderedDict[str, V] = OrderedDict()

    def get(self, tool: str) -> V | None:
        """What is remembered of it. Does not mutate."""
        return self._values.get(tool)

    def heard_of(self, tool: str) -> V:
        """The same, made if there is none; the tool heard of longest ago is forgotten. Mutates; O(1)."""
        value = self._values.get(tool)
        if value is None:
            value = self._values[tool] = self._make()
            if len(self._values) > MOST_TOOLS:
                self._values.popitem(last=False)
        self._values.move_to_end(tool)
        return value

    def __len__(self) -> int:
        return len(self._values)


def is_duration(seconds: float) -> bool:
    """Whether this can be learned from: NaN, infinite and negative ones cannot."""
    return math.isfinite(seconds) and seconds >= 0
