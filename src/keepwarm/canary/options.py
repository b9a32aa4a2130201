"""What the caller of a canary or of a tuning run chooses, and the check of each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from keepwarm._errors import InputError
from keepwarm.canary.pressure import PressureOptions
from keepwarm.vllm.settings import MODE, read_settings

SCAN_LIMIT = "COMPUTECACHE_SCAN_LIMIT"


class CanaryOptions(msgspec.Struct, frozen=True, kw_only=True):
    """``candidate`` is what is set besides the mode; ``ttft_budget`` the highest ratio to lru's TTFT.

    ``other_text`` allows other generated text than under lru: kernels in low precision may round a
    continuation differently when its prefix is cached.
    """

    candidate: Mapping[str, str] = {}
    pressure: PressureOptions = PressureOptions()
    ttft_budget: float = 1.05
    other_text: bool = False
    leave_running: bool = False


class TtftBudget(msgspec.Struct, frozen=True, kw_only=True):
    """The highest p95 TTFT: in seconds, or as a ratio to lru's."""

    value: float
    unit: Literal["s", "ratio"]


class TuneOptions(msgspec.Struct, frozen=True, kw_only=True):
    """``candidate`` is what is set besides mode, rule and scan limit."""

    scan_limits: tuple[int, ...] = (16, 32, 64)
    p95_ttft_budget: TtftBudget = TtftBudget(value=1.05, unit="ratio")
    candidate: Mapping[str, str] = {}
    pressure: PressureOptions = PressureOptions()
    other_text: bool = False


def candidate_settings(pairs: Iterable[str], *, taken: Iterable[str] = (MODE,)) -> dict[str, str]:
    """``NAME=VALUE`` of each pair. The plugin would warn about a wrong one and go on; a canary must not.

    Raises InputError: no pair, twice the same name, a name the plugin does not know or that is
    ``taken`` by the command, or a value it would not take.
    """
    settings: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise InputError(f"--set {pair!r} is no setting; write NAME=VALUE, as {SCAN_LIMIT}=32")
        if name in settings:
            raise InputError(f"--set names {name!r} twice; keep one")
        if name in taken:
            raise InputError(f"--set {name!r}: this command chooses it by itself; leave it out")
        if not _is_known(name):
            raise InputError(
                f"--set {name!r}: the plugin knows no such setting; docs/reference/settings.md lists them"
            )
        settings[name] = value
    warnings = read_settings(settings).warnings
    if warnings:
        raise InputError(
            f"--set: the plugin would not take {warnings[0].partition(';')[0]}; give another value"
        )
    return settings


def _is_known(name: str) -> bool:
    """Whether the plugin reads ``name``: it warns of nonsense only there."""
    return bool(read_settings({name: "nonsense"}).warnings)


def ttft_budget(text: str) -> TtftBudget:
    """``1.05`` or ``1.05x`` is a ratio, ``0.4s`` seconds. Raises InputError."""
    number, unit = (text[:-1], text[-1]) if text[-1:] in ("s", "x") else (text, "x")
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise InputError(f"{text!r} is no TTFT budget; write 1.05 for a ratio to lru's, or 0.4s for seconds")
    return TtftBudget(value=value, unit="s" if unit == "s" else "ratio")


def check_tuning(options: TuneOptions) -> None:
    """Raises InputError: a scan limit below 1, twice the same, or none."""
    limits = options.scan_limits
    if not limits or min(limits) < 1 or len(set(limits)) < len(limits):
        shown = ",".join(map(str, limits))
        raise InputError(f"scan limits {shown!r}: give one or more different numbers from 1, as 16,32,64")
