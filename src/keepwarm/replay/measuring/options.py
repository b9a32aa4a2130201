"""What the caller of a measured replay chooses."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Literal

import msgspec

from keepwarm._errors import InputError

Mode = Literal["sequential", "concurrent", "recorded"]
ToolChoice = Literal["recorded", "none"]

_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_MOST_AT_ONCE = 1024


class ReplayOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to send the requests of a trace.

    ``concurrency`` and ``recorded_timing`` are the two modes that are not sequential; one at most. ``model``
    None is the first that the server lists. ``max_tokens`` caps what each request may generate.
    ``tool_choice`` ``none`` keeps tools in the prompt and lets no server ask for a parser of tool calls.
    ``reset`` False leaves the cache as it is. ``device`` replaces what is said of the server's machine.
    """

    label: str
    format: str = "auto"
    model: str | None = None
    concurrency: int | None = None
    recorded_timing: bool = False
    max_tokens: int | None = None
    chat_template: Path | None = None
    tool_choice: ToolChoice = "recorded"
    limit: int | None = None
    reset: bool = True
    keep_text: bool = False
    seed: int = 0
    timeout_s: float = 300.0
    device: str | None = None

    @property
    def mode(self) -> Mode:
        """The declared mode."""
        if self.recorded_timing:
            return "recorded"
        return "sequential" if self.concurrency is None else "concurrent"


def check_options(options: ReplayOptions) -> None:
    """Raises InputError: a value that no run could make sense of."""
    if not _LABEL.fullmatch(options.label):
        raise InputError(f"--label {options.label!r} is no short name; write before or after")
    if options.recorded_timing and options.concurrency is not None:
        raise InputError("--concurrency and --timing recorded are two modes; leave one out")
    for name in ("concurrency", "max_tokens", "limit"):
        value = getattr(options, name)
        if value is not None and value < 1:
            raise InputError(
                f"--{name.replace('_', '-')} {value!r} is not a positive whole number; give 1 or more"
            )
    if options.concurrency is not None and options.concurrency > _MOST_AT_ONCE:
        raise InputError(
            f"--concurrency {options.concurrency} is more than {_MOST_AT_ONCE} requests at once; give fewer"
        )
    if not (math.isfinite(options.timeout_s) and options.timeout_s > 0):
        raise InputError(f"--timeout-s {options.timeout_s!r} is not a positive number of seconds; take 300")
    if not -(2**63) <= options.seed < 2**63:
        raise InputError(f"--seed {options.seed!r} does not fit 64 bits; give a smaller one")
