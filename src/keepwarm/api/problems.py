"""What goes wrong while answering, by HTTP status; each is one line with the next step.

InputError          422
├── NoSuchResult    404
├── Conflict        409
└── TooLong         413
"""

from __future__ import annotations

import os
import traceback

from keepwarm._errors import InputError


class NoSuchResult(InputError):
    """Nothing of that id, or of that kind, is in the folder."""


class Conflict(InputError):
    """It was changed meanwhile, or cannot be had as things stand."""


class TooLong(InputError):
    """A body is longer than any that is meant."""


_STATUSES: tuple[tuple[type[Exception], int], ...] = (
    (NoSuchResult, 404),
    (Conflict, 409),
    (TooLong, 413),
    (InputError, 422),
)


def status_of(error: Exception) -> int | None:
    """The status that says it, None: it is no one's fault but ours."""
    return next((status for kind, status in _STATUSES if isinstance(error, kind)), None)


def bug(error: Exception) -> str:
    """What whoever asked is told of a bug: its kind, not its words, which may hold recorded values."""
    kind = type(error).__name__
    return f"a bug in keepwarm, {kind}; the terminal of 'keepwarm serve' says where, please report it"


def kind_and_place(error: Exception) -> str:
    """``KeyError at reorder.py:12``: what is known of a bug without its words."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""  # noqa: PTH119
    return f"{type(error).__name__}{place}"
