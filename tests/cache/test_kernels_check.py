"""The kernel's check of its own structure sees what is wrong; run as the plain Python it is."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from keepwarm._errors import IntegrityError
from keepwarm.cache.intern import intern_requests
from keepwarm.cache.kernels import frame, lru, run, run_kernel
from keepwarm.cache.kernels.lru import LruState
from keepwarm.cache.kernels.operations import Setup
from keepwarm.cache.kernels.pool import FRESH, SPARE, Pool, Requests, new_pool
from keepwarm.cache.replay import CacheRequest

CAPACITY_BLOCKS = 8


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> tuple[Pool, LruState]:
    """Six tokens in blocks of 2, twice: the last block has a twin. Then three tokens of others."""
    for name, operation in lru.KERNEL.operations().items():
        monkeypatch.setattr(frame, name, operation)
    requests = Requests(
        2,
        np.array([0, 3, 6, 7]),
        np.array([0, 1, 2, 0, 1, 2, 3], dtype=np.int32),
        np.array([6, 6, 3]),
        np.array([0, 0, 0]),
        np.zeros(3, dtype=np.bool_),
    )
    pool = new_pool(CAPACITY_BLOCKS, 1, 4, 3)
    state = lru.new_state(Setup(CAPACITY_BLOCKS, 3, 4, requests))
    outcome = run._new_outcome(3, 0)
    assert frame.replay_requests(requests, pool, state, outcome, np.empty(0, dtype=np.int64), 0, 3) == 0
    assert outcome.hit_blocks.tolist() == [0, 2, 0]
    return pool, state


def fault(pool: Pool, state: LruState) -> int:
    return frame.check_structure(pool, state, np.zeros(CAPACITY_BLOCKS, dtype=np.int64))


def test_finds_nothing_wrong(served: tuple[Pool, LruState]) -> None:
    assert fault(*served) == 0


def a_broken_link(pool: Pool, state: LruState) -> None:
    state.links.before[2] = 5


def a_ring_without_end(pool: Pool, state: LruState) -> None:
    first = state.links.after[state.queue]
    state.links.after[first], state.links.before[first] = first, first


def a_lost_slot(pool: Pool, state: LruState) -> None:
    lru.pop_victim(state, pool)


def a_held_blank(pool: Pool, state: LruState) -> None:
    pool.counters[SPARE] = 0


def a_fresh_slot_not_held(pool: Pool, state: LruState) -> None:
    pool.counters[FRESH] += 1


def a_wrong_place(pool: Pool, state: LruState) -> None:
    pool.places[0] = pool.places[1]


def a_blank_place(pool: Pool, state: LruState) -> None:
    pool.places[0] = pool.counters[SPARE]


def a_lone_twin(pool: Pool, state: LruState) -> None:
    oldest = pool.places[2]
    newest = pool.next_twin[oldest]
    pool.next_twin[newest], pool.next_twin[oldest] = newest, oldest


def a_twin_of_another(pool: Pool, state: LruState) -> None:
    pool.next_twin[pool.places[0]] = pool.places[1]


def a_broken_ring(pool: Pool, state: LruState) -> None:
    oldest = pool.places[2]
    pool.previous_twin[pool.next_twin[oldest]] = pool.places[0]


@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        (a_broken_link, 1),
        (a_ring_without_end, 1),
        (a_lost_slot, 32),
        (a_held_blank, 32),
        (a_fresh_slot_not_held, 32),
        (a_wrong_place, 33),
        (a_blank_place, 33),
        (a_lone_twin, 34),
        (a_twin_of_another, 34),
        (a_broken_ring, 34),
    ],
)
def test_finds(served: tuple[Pool, LruState], spoil: Callable[[Pool, LruState], None], code: int) -> None:
    spoil(*served)
    assert fault(*served) == code


def test_a_fault_is_an_error_that_says_where(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "compiled_replay", lambda *_, **__: lambda *_: 3 * frame.FAULTS + 33)
    trace = intern_requests([CacheRequest(np.empty(0, dtype=np.uint64), 1)], 2)
    with pytest.raises(IntegrityError, match="kernel 'lru': fault 33 after request 3"):
        run_kernel(trace, policy="lru", capacity_blocks=2, check_integrity=True)
