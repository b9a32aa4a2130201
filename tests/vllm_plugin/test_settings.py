"""A server starts whatever stands in its environment."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from keepwarm.vllm.settings import Settings, is_asked_for, read_settings

NAMES = (
    "MODE", "RULE", "SCAN_LIMIT", "REUSE_WEIGHT", "DEPTH_WEIGHT", "AGE_WEIGHT", "QUICK_DEMOTE_PENALTY",
    "LOG_EVERY", "PROTECTED_SHARE", "STALE_TURNOVERS", "LEAST_STALE_BLOCKS", "DECISION_BUDGET_US",
    "FAULT_LIMIT",
)  # fmt: skip
values = (
    st.text(max_size=12) | st.integers().map(str) | st.floats().map(str) | st.sampled_from(["lru", "window"])
)


@given(st.dictionaries(st.sampled_from(NAMES).map("COMPUTECACHE_{}".format), values))
def test_whatever_is_set_the_values_are_in_their_bounds(environ: dict[str, str]) -> None:
    settings, warnings = read_settings(environ)
    assert settings.mode in {"lru", "active"}
    assert settings.rule in {"boundary", "window"}
    assert (
        min(settings.scan_limit, settings.log_every, settings.decision_budget_us, settings.fault_limit) >= 1
    )
    assert min(*settings.weights, settings.least_stale_blocks) >= 0
    assert 0 <= settings.protected_share <= 1
    assert settings.stale_turnovers >= 0
    assert len(warnings) <= len(environ)
    settings.line()


def test_unset_is_the_default_without_a_word() -> None:
    assert read_settings({}) == (Settings(), [])
    assert not is_asked_for({"COMPUTECACHE_RULE": "window"})
    assert is_asked_for({"COMPUTECACHE_MODE": ""})


def test_the_window_has_a_scan_limit_of_its_own() -> None:
    assert read_settings({"COMPUTECACHE_RULE": "window"}).settings.scan_limit == 64
    assert read_settings({"COMPUTECACHE_RULE": "boundary"}).settings.scan_limit == 4
    both = {"COMPUTECACHE_RULE": "window", "COMPUTECACHE_SCAN_LIMIT": "8"}
    assert read_settings(both).settings.scan_limit == 8


def test_never_stale_can_be_asked_for() -> None:
    settings, warnings = read_settings({"COMPUTECACHE_STALE_TURNOVERS": "inf"})
    assert settings.stale_turnovers == math.inf
    assert not warnings


def test_a_warning_names_the_value_and_what_is_taken() -> None:
    [line] = read_settings({"COMPUTECACHE_PROTECTED_SHARE": "40%"}).warnings
    assert "COMPUTECACHE_PROTECTED_SHARE='40%'" in line
    assert line.endswith("taking 0.4")
