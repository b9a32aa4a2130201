"""Checks of the numbers that a caller chooses: one line that says what, and what to give instead."""

from __future__ import annotations

import math

from keepwarm._errors import InputError

MOST_BLOCK_TOKENS = 2**20
"""More tokens a block than any server has."""


def check_count(name: str, value: object, *, most: int | None = None) -> None:
    """Raises InputError: ``value`` is neither None nor a whole number from 1 to ``most``."""
    if value is None:
        return
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1 and (not most or value <= most):
        return
    bounds = "a positive whole number" if most is None else f"a whole number from 1 to {most}"
    raise InputError(f"{name} {value!r} is not {bounds}; correct it, or leave it out")


def check_seconds(name: str, value: object) -> None:
    """Raises InputError: ``value`` is neither None nor a positive, finite time."""
    if value is None:
        return
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value > 0:
        return
    raise InputError(f"{name} {value!r} is not a positive number of seconds; correct it, or leave it out")
