"""Lengths of time as people and Prometheus write them: ``30s``, ``5m``, ``1h``."""

from __future__ import annotations

import re

from keepwarm._errors import InputError

_SHAPE = re.compile(r"([1-9]\d{0,5})([smhd])", re.ASCII)
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_LEAST_S = 10  # a rate needs two scrapes


def window_seconds(text: str) -> int:
    """``5m`` as 300. Raises InputError."""
    match = _SHAPE.fullmatch(text)
    seconds = int(match[1]) * _SECONDS[match[2]] if match else 0
    if seconds < _LEAST_S:
        raise InputError(
            f"--window {text!r} is no length of time from {_LEAST_S}s on; say 5m, four scrapes or more"
        )
    return seconds
