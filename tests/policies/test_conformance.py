"""What every registered policy must do, whatever its order."""

from __future__ import annotations

import ast
import dataclasses
import random
import sys
from collections import deque
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepwarm.policies import POLICIES, SESSION_POLICIES
from keepwarm.policies.base import CachedBlock, VictimOrder
from tests.policies.ranks import with_ranks
from tests.policies.streams import CAPACITY_BLOCKS, Served, Server, block, drive

CLASSES = POLICIES | {name: with_ranks(policy) for name, policy in SESSION_POLICIES.items()}

pytestmark = pytest.mark.parametrize("policy_class", CLASSES.values(), ids=CLASSES.keys())

seeds = st.integers(0, 2**32 - 1)
capacities = st.integers(1, 40)


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


@given(seed=seeds, capacity_blocks=capacities)
def test_keeps_a_pool_whole(policy_class: type[VictimOrder], seed: int, capacity_blocks: int) -> None:
    server = Server(policy_class(capacity_blocks))
    server.run(seed)
    server.finish_all()
    server.pool.check_integrity([])
    assert server.pool.free_blocks == capacity_blocks
    in_order = list(server.policy)
    blank = capacity_blocks - len(in_order)
    server.policy.on_allocate(capacity_blocks, blank)
    assert sorted(server.policy) == sorted(in_order)


@settings(max_examples=30)
@given(seed=seeds, capacity_blocks=capacities)
def test_the_same_stream_gives_the_same_victims(
    policy_class: type[VictimOrder], seed: int, capacity_blocks: int
) -> None:
    journal = Server(policy_class(capacity_blocks)).run(seed)
    assert Server(policy_class(capacity_blocks)).run(seed) == journal


@settings(max_examples=30)
@given(seed=seeds, capacity_blocks=capacities)
def test_hashes_are_names_and_not_numbers(
    policy_class: type[VictimOrder], seed: int, capacity_blocks: int
) -> None:
    """Real hashes are any 64 bits, and those of unknown content negative: only equality may count."""
    plain = Server(policy_class(capacity_blocks)).run(seed)
    scattered = Server(policy_class(capacity_blocks), rename=scatter).run(seed)
    assert [Served(s.hit_blocks, s.blocks, tuple(map(scatter, s.evicted))) for s in plain] == scattered


def scatter(number: int) -> int:
    """Another order, all 64 bits, both signs; injective."""
    mixed = (number + 1) * 0x9E3779B97F4A7C15 % 2**64
    return -mixed if number % 3 == 0 else mixed


@settings(max_examples=30)
@given(seed=seeds, capacity_blocks=capacities)
def test_a_reset_pool_serves_like_a_new_one(
    policy_class: type[VictimOrder], seed: int, capacity_blocks: int
) -> None:
    server = Server(policy_class(capacity_blocks))
    server.run(seed)
    server.finish_all()
    assert server.pool.reset()
    new = Server(policy_class(capacity_blocks), numbers=dict(server.numbers))
    again, first = server.run(seed + 1), new.run(seed + 1)
    # Blank blocks are in another order after the reset, so the blocks differ and all else does not.
    assert [(s.hit_blocks, s.evicted) for s in again] == [(s.hit_blocks, s.evicted) for s in first]


def test_remembers_no_more_than_the_capacity_accounts_for(policy_class: type[VictimOrder]) -> None:
    server = Server(policy_class(CAPACITY_BLOCKS))
    rng = random.Random(1)
    sizes: list[int] = []
    for _ in range(60):
        server.run(rng.randrange(2**32), steps=30)
        sizes.append(entries(server.policy))
    # The stream goes on as it began, with new content all the time.
    assert max(sizes[30:]) <= max(sizes[:30]) + CAPACITY_BLOCKS


def entries(root: object) -> int:
    """Entries of all containers that an object holds on to."""
    seen: set[int] = set()
    waiting, count = [root], 0
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if hasattr(each, "__dict__") and not isinstance(each, type):
            waiting.append(vars(each))
        if dataclasses.is_dataclass(each) and not isinstance(each, type):
            waiting += [getattr(each, attribute.name) for attribute in dataclasses.fields(each)]
        if isinstance(each, dict):
            waiting += [*each.keys(), *each.values()]
        elif isinstance(each, list | tuple | set | frozenset | deque):
            waiting += list(each)
        else:
            continue
        count += len(each)
    return count


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


def test_says_where_it_is_from_what_it_does_and_what_it_costs(policy_class: type[VictimOrder]) -> None:
    assert (POLICIES | SESSION_POLICIES)[policy_class.name] in policy_class.__mro__
    top = sys.modules[policy_class.__module__].__doc__ or ""
    assert "Source: " in top or "stock order of vLLM" in top
    assert "victim" in top
    assert "O(1)" in f"{top} {policy_class.__doc__}" or "O(log n)" in top
