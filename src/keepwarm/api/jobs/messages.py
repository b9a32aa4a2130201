"""What a worker says: JSON over a pipe, so that nothing but these can come out of it."""

from __future__ import annotations

import msgspec

from keepwarm.diagnose.reorder import ReorderResult


class Staged(msgspec.Struct, frozen=True, tag="stage"):
    """``done`` of ``total`` steps of a stage; ``total`` 0: unknown."""

    stage: str
    done: int
    total: int


class Answered(msgspec.Struct, frozen=True, tag="answer"):
    """It is done."""

    result: ReorderResult


class Refused(msgspec.Struct, frozen=True, tag="refusal"):
    """It cannot be done: one line with the next step."""

    problem: str


Message = Staged | Answered | Refused
