"""How a pressure run is sized and ordered."""

from __future__ import annotations

import math
from itertools import pairwise

import msgspec

from keepwarm._errors import InputError

DEFAULT_FLOOD = (1, 2, 4, 8, 16, 40, 80)


class PressureOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What to send. The same options and seed give the same requests in the same order.

    ``hot_tokens`` and ``flood_tokens`` are None where the server's own limits decide. ``flood`` counts
    one-use requests since the start, so it rises; the hot prefix is replayed after each. ``model`` None is
    the first that the server lists. ``repeat`` hot requests follow each batch; the first of them is the
    step's result, for those behind it find what it left. ``output_tokens`` are generated per hot request.
    """

    hot_tokens: int | None = None
    flood: tuple[int, ...] = DEFAULT_FLOOD
    flood_tokens: int | None = None
    model: str | None = None
    seed: int = 0
    repeat: int = 1
    output_tokens: int = 8
    timeout_s: float = 300.0


def check_options(options: PressureOptions) -> None:
    """Raises InputError: a value that no server could make sense of."""
    for name in ("hot_tokens", "flood_tokens", "repeat", "output_tokens"):
        value = getattr(options, name)
        if value is not None and value < 1:
            raise InputError(f"{name} {value!r} is not a positive whole number; give 1 or more")
    rises = all(earlier < later for earlier, later in pairwise(options.flood))
    if not options.flood or options.flood[0] < 1 or not rises:
        shown = ",".join(map(str, options.flood))
        raise InputError(
            f"flood {shown!r} does not rise from 1 or more; it counts requests since the start, as 1,2,4,8"
        )
    if not (math.isfinite(options.timeout_s) and options.timeout_s > 0):
        raise InputError(f"timeout_s {options.timeout_s!r} is not a positive number of seconds; take 300")
    if not -(2**63) <= options.seed < 2**63:
        raise InputError(f"seed {options.seed!r} does not fit 64 bits; give a smaller one")
