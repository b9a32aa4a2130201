"""What an engine is: it computes cells somewhere, and says of each what became of it."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Protocol

from keepwarm.sweep.cells import Group
from keepwarm.sweep.work import Outcome

MOST_TRIES = 3
"""How often a cell is started whose process is lost; then it is the cell that kills it."""


class Engine(Protocol):
    """Computes cells. ``lost``: how often a process was lost whose cells were then started again."""

    lost: int

    def outcomes(self, groups: Sequence[Group]) -> Generator[Outcome, None, None]:
        """One outcome for every cell, as they come, in any order.

        A cell that fails has an outcome with a reason, and the others go on; so do those of a process that
        is lost, which are started again. Closing the iterator, or any exception that passes through it,
        ends all that the engine started.

        Raises:
            InputError: the engine itself cannot work.
        """
        ...
