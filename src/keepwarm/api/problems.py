"""What goes wrong while answering, by HTTP status; each is one line with the next step.

InputError          422
├── NoSuchResult    404
├── Conflict        409
└── TooLong         413
"""

from __future__ import annotations

from keepwarm._errors import InputError


class NoSuchResult(InputError):
    """Nothing of that id, or of that kind, is in the folder."""


class Conflict(InputError):
    """It was changed meanwhile, or cannot be had as things stand."""


class TooLong(InputError):
    """A body is longer than any that is meant."""
