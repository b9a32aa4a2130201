"""What every registered policy must do, whatever its order."""

from __future__ import annotations

import ast
import random
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwarm.policies import POLICIES
from keepwarm.policies.base import BlockHash, BlockId, CachedBlock, VictimOrder

pytestmark = pytest.mark.parametrize("policy_class", POLICIES.values(), ids=POLICIES.keys())

CAPACITY_BLOCKS = 20
seeds = st.integers(0, 2**32 - 1)


def block(block_id: int, block_hash: int | None = None) -> CachedBlock:
    return CachedBlock(BlockId(block_id), BlockHash(block_id if block_hash is None else block_hash), 1)


def drive(policy: VictimOrder, seed: int, steps: int = 60) -> tuple[set[int], list[int]]:
    """Random legal calls; returns the blocks that must be held now, and every victim so far."""
    rng = random.Random(seed)
    held: dict[int, CachedBlock] = {}
    victims: list[int] = []
    for _ in range(steps):
        action = rng.random()
        if action < 0.5:
            outside = [block_id for block_id in range(1, 20) if block_id not in held]
            freed = [
                block(i, rng.randrange(8)) for i in rng.sample(outside, rng.randint(0, len(outside) // 2))
            ]
            policy.on_free(freed)
            held.update((each.id, each) for each in freed)
        elif action < 0.65 and held:
            hit = held.pop(rng.choice(sorted(held)))
            policy.on_hit(hit, was_free=True)
        elif action < 0.75:
            policy.on_hit(block(99, rng.randrange(8)), was_free=False)
        elif action < 0.97 and held:
            victim = policy.pop_victim()
            assert held.pop(victim.id) == victim
            policy.on_evict(victim)
            victims.append(victim.id)
        elif action >= 0.97:
            assert sorted(policy.on_reset()) == sorted(held)
            held.clear()
        assert len(policy) == len(held)
    return set(held), victims


@given(seed=seeds)
def test_holds_exactly_what_was_freed_and_not_taken(policy_class: type[VictimOrder], seed: int) -> None:
    policy = policy_class(CAPACITY_BLOCKS)
    held, _ = drive(policy, seed)
    listed = list(policy)
    assert len(listed) == len(set(listed))
    assert set(listed) == held


@given(seed=seeds)
def test_lists_blocks_in_the_order_of_its_victims(policy_class: type[VictimOrder], seed: int) -> None:
    policy = policy_class(CAPACITY_BLOCKS)
    drive(policy, seed)
    while len(policy):
        first = next(iter(policy))
        assert policy.pop_victim().id == first


@given(seed=seeds)
def test_listing_changes_nothing(policy_class: type[VictimOrder], seed: int) -> None:
    policy, untouched = policy_class(CAPACITY_BLOCKS), policy_class(CAPACITY_BLOCKS)
    drive(policy, seed)
    drive(untouched, seed)
    assert list(policy) == list(policy)
    assert [policy.pop_victim() for _ in range(len(policy))] == [
        untouched.pop_victim() for _ in range(len(untouched))
    ]


@given(seed=seeds)
def test_a_reset_gives_back_all_blocks_and_forgets(policy_class: type[VictimOrder], seed: int) -> None:
    policy = policy_class(CAPACITY_BLOCKS)
    drive(policy, seed)
    in_order = list(policy)
    assert policy.on_reset() == in_order
    assert len(policy) == 0
    assert policy.on_reset() == []
    assert drive(policy, seed) == drive(policy_class(CAPACITY_BLOCKS), seed)


def test_has_no_victim_when_it_holds_nothing(policy_class: type[VictimOrder]) -> None:
    with pytest.raises(LookupError):
        policy_class(CAPACITY_BLOCKS).pop_victim()


def test_refuses_a_hit_on_a_free_block_it_does_not_hold(policy_class: type[VictimOrder]) -> None:
    policy = policy_class(CAPACITY_BLOCKS)
    policy.on_free([block(1)])
    with pytest.raises(KeyError):
        policy.on_hit(block(2), was_free=True)
    assert list(policy) == [1]


@pytest.mark.parametrize("again", [[block(3), block(1)], [block(3), block(3)]])
def test_refuses_blocks_freed_twice_and_takes_none(
    policy_class: type[VictimOrder], again: list[CachedBlock]
) -> None:
    policy = policy_class(CAPACITY_BLOCKS)
    policy.on_free([block(1), block(2)])
    before = list(policy)
    with pytest.raises(ValueError, match="freed twice"):
        policy.on_free(again)
    assert list(policy) == before


def test_uses_the_standard_library_only(policy_class: type[VictimOrder]) -> None:
    source = Path(sys.modules[policy_class.__module__].__file__ or "").read_text()
    for node in ast.walk(ast.parse(source)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        for name in names:
            assert name.startswith("keepwarm.policies") or name.split(".")[0] in sys.stdlib_module_names, name


def test_says_what_it_does(policy_class: type[VictimOrder]) -> None:
    assert POLICIES[policy_class.name] is policy_class
    assert sys.modules[policy_class.__module__].__doc__
