"""What an operator can set, read from the environment when the engine starts.

A server must start whatever stands there: a value that is invalid or too small warns and takes the default,
an unknown mode means ``lru``. Unset altogether, ``COMPUTECACHE_MODE`` leaves vLLM alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple, TypeVar

from keepwarm.policies.computecache import LEAST_STALE_BLOCKS, PROTECTED_SHARE, SCAN_LIMIT, STALE_TURNOVERS
from keepwarm.policies.computecache_window import WINDOW_SCAN_LIMIT
from keepwarm.policies.keep_value import KEEP_WEIGHTS, KeepWeights

Mode = Literal["lru", "active"]
Rule = Literal["boundary", "window"]
Number = TypeVar("Number", int, float)

MODE = "COMPUTECACHE_MODE"
RULE = "COMPUTECACHE_RULE"
MOST_SCANNED = 1_000_000  # no pool is larger
SCAN_LIMITS: dict[Rule, int] = {"boundary": SCAN_LIMIT, "window": WINDOW_SCAN_LIMIT}


class Settings(NamedTuple):
    """The values in effect; the fields are explained in docs/reference/settings.md."""

    mode: Mode = "lru"
    rule: Rule = "boundary"
    scan_limit: int = SCAN_LIMIT
    weights: KeepWeights = KEEP_WEIGHTS
    protected_share: float = PROTECTED_SHARE
    stale_turnovers: float = STALE_TURNOVERS
    least_stale_blocks: int = LEAST_STALE_BLOCKS
    log_every: int = 256
    decision_budget_us: int = 20_000
    fault_limit: int = 32

    def line(self) -> str:
        """All of them in one line, for the log."""
        weights = self.weights
        return (
            f"mode={self.mode} rule={self.rule} scan_limit={self.scan_limit} reuse_weight={weights.reuse} "
            f"depth_weight={weights.depth} age_weight={weights.age} "
            f"quick_demote_penalty={weights.quick_demote_penalty} protected_share={self.protected_share:g} "
            f"stale_turnovers={self.stale_turnovers:g} least_stale_blocks={self.least_stale_blocks} "
            f"{self.limits_line()}"
        )

    def limits_line(self) -> str:
        """Those of them that hold for any order."""
        return (
            f"log_every={self.log_every} decision_budget_us={self.decision_budget_us} "
            f"fault_limit={self.fault_limit}"
        )


class Reading(NamedTuple):
    """The settings, and a line for each value that could not be used."""

    settings: Settings
    warnings: list[str]


def is_asked_for(environ: Mapping[str, str]) -> bool:
    """Whether the mode is set at all; if it is not, nothing of vLLM is touched."""
    return MODE in environ


def read_settings(environ: Mapping[str, str]) -> Reading:
    """Never raises."""
    warnings: list[str] = []
    # A rule that is wrong must not choose the default of another setting silently: it is read first.
    rule: Rule = _choice(environ, RULE, {"boundary": "boundary", "window": "window"}, "boundary", warnings)
    whole, real = _numbers(environ, warnings)
    settings = Settings(
        mode=_choice(environ, MODE, {"lru": "lru", "active": "active"}, "lru", warnings),
        rule=rule,
        scan_limit=whole("SCAN_LIMIT", SCAN_LIMITS[rule], 1, MOST_SCANNED),
        weights=KeepWeights(
            reuse=whole("REUSE_WEIGHT", KEEP_WEIGHTS.reuse, 0),
            depth=whole("DEPTH_WEIGHT", KEEP_WEIGHTS.depth, 0),
            age=whole("AGE_WEIGHT", KEEP_WEIGHTS.age, 0),
            quick_demote_penalty=whole("QUICK_DEMOTE_PENALTY", KEEP_WEIGHTS.quick_demote_penalty, 0),
        ),
        protected_share=real("PROTECTED_SHARE", PROTECTED_SHARE, 0.0, 1.0),
        stale_turnovers=real("STALE_TURNOVERS", STALE_TURNOVERS, 0.0, math.inf),
        least_stale_blocks=whole("LEAST_STALE_BLOCKS", LEAST_STALE_BLOCKS, 0),
        log_every=whole("LOG_EVERY", Settings().log_every, 1),
        decision_budget_us=whole("DECISION_BUDGET_US", Settings().decision_budget_us, 1),
        fault_limit=whole("FAULT_LIMIT", Settings().fault_limit, 1),
    )
    return Reading(settings, warnings)


Choice = TypeVar("Choice", bound=str)


def _choice(
    environ: Mapping[str, str], name: str, choices: Mapping[str, Choice], default: Choice, warnings: list[str]
) -> Choice:
    text = environ.get(name, default).strip().lower()
    if text not in choices:
        warnings.append(f"{name}={environ[name]!r} is none of {', '.join(choices)}; taking {default}")
        return default
    return choices[text]


def _numbers(
    environ: Mapping[str, str], warnings: list[str]
) -> tuple[Callable[..., int], Callable[..., float]]:
    """Readers of whole and of real numbers, given a name, the default and the bounds."""

    def read(name: str, parse: Callable[[str], Number], default: Number, least: float, most: float) -> Number:
        name = f"COMPUTECACHE_{name}"
        text = environ.get(name)
        if text is None:
            return default
        try:
            value = parse(text.strip())
        except (ValueError, OverflowError):
            value = None
        if value is None or not least <= value <= most:
            bounds = f"{least:g} or more" if most == math.inf else f"from {least:g} to {most:.10g}"
            warnings.append(f"{name}={text!r} is no number {bounds}; taking {default:g}")
            return default
        return value

    def whole(name: str, default: int, least: int, most: float = math.inf) -> int:
        return read(name, int, default, least, most)

    def real(name: str, default: float, least: float, most: float) -> float:
        return read(name, float, default, least, most)

    return whole, real
