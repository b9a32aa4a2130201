"""The same pool as a Hypothesis state machine, which shrinks what fails to a few operations."""

from __future__ import annotations

from typing import ClassVar

import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from keepwarm.policies.keep_value import KeepWeights
from keepwarm.vllm.settings import Settings
from tests.vllm.pool_driver import Driver, Prompt
from tests.vllm.test_pool_random import NEVER_US, reference

INDICES = st.integers(0, 7)
STEPS = 50

RULES = st.builds(
    Settings,
    mode=st.just("active"),
    rule=st.sampled_from(["boundary", "window"]),
    scan_limit=st.sampled_from([1, 2, 4, 64]),
    weights=st.builds(KeepWeights, *[st.integers(0, 4)] * 3, st.sampled_from([0, 4096])),
    protected_share=st.sampled_from([0.0, 0.2, 0.4, 1.0]),
    stale_turnovers=st.sampled_from([0.0, 0.5, 2.0, 16.0]),
    least_stale_blocks=st.sampled_from([0, 4, 16_384]),
    decision_budget_us=st.just(NEVER_US),
)


class PoolMachine(RuleBasedStateMachine):
    """Requests, connectors and resets on one pool of a few blocks, everything checked after each step."""

    driver: Driver
    checked_steps: ClassVar[int] = 0

    @initialize(
        capacity_blocks=st.integers(1, 12),
        given=RULES,
        kind=st.sampled_from(["reference", "full", "partial"]),
    )
    def make(self, capacity_blocks: int, given: Settings, kind: str) -> None:
        self.driver = Driver(
            capacity_blocks,
            given,
            block_hashes=3 if kind == "partial" else 1,
            reference=reference(capacity_blocks, given) if kind == "reference" else None,
        )

    @rule(
        family=st.integers(0, 2), branch=st.integers(0, 2), fork=st.integers(0, 9), length=st.integers(1, 6)
    )
    def admit(self, family: int, branch: int, fork: int, length: int) -> None:
        self.driver.admit(Prompt(family, branch, fork), length)

    @rule(family=st.integers(0, 2), length=st.integers(1, 6))
    def admit_and_cache(self, family: int, length: int) -> None:
        self.driver.admit(Prompt(family, 0, 9), length)
        self.driver.cache(len(self.driver.tables) - 1, length)

    @rule(index=INDICES, count=st.integers(0, 4))
    def grow(self, index: int, count: int) -> None:
        self.driver.grow(index, count)

    @rule(index=INDICES, count=st.integers(1, 4))
    def cache(self, index: int, count: int) -> None:
        self.driver.cache(index, count)

    @rule(index=INDICES)
    def free(self, index: int) -> None:
        self.driver.free(index)

    @rule()
    def reset(self) -> None:
        self.driver.reset()

    @rule(index=INDICES, watched=st.integers(0, 6))
    def unpin(self, index: int, watched: int) -> None:
        if self.driver.reference is None:
            self.driver.unpin(index, watched)

    @rule(ids=st.sets(st.integers(0, 12), max_size=3))
    def evict(self, ids: set[int]) -> None:
        if self.driver.reference is None:
            self.driver.evict(ids)

    @rule(index=INDICES, hashes=st.integers(0, 1), replace=st.booleans())
    def partial(self, index: int, hashes: int, *, replace: bool) -> None:
        self.driver.partial(index, hashes, replace=replace)

    @rule(index=INDICES)
    def move(self, index: int) -> None:
        if self.driver.reference is None:
            self.driver.move(index)

    @invariant()
    def everything_is_as_the_rule_says(self) -> None:
        if hasattr(self, "driver"):
            self.driver.check()
            PoolMachine.checked_steps += 1


def run(steps: int) -> None:
    """So many steps, ``STEPS`` on each pool; Hypothesis may end a few pools early."""
    PoolMachine.checked_steps = 0
    run_state_machine_as_test(
        PoolMachine,
        settings=hypothesis_settings(
            max_examples=steps * 3 // (2 * STEPS), stateful_step_count=STEPS, deadline=None
        ),
    )
    assert PoolMachine.checked_steps >= steps


def test_any_operations() -> None:
    run(2000)


@pytest.mark.long
def test_any_operations_for_longer() -> None:
    run(20_000)
