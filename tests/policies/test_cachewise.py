"""Each clause of the rule of CacheWise, and what it costs."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from keepwarm.policies import cachewise
from keepwarm.policies.base import BlockId
from keepwarm.policies.cachewise import MOST_READ, CacheWise
from keepwarm.policies.session_groups import MOST_OWNERS
from keepwarm.policies.sessions import ReuseRank, SessionId, Tier
from tests.policies.ranks import Told
from tests.policies.streams import block
from tests.policies.test_conformance import entries


def tool(tau_s: float) -> ReuseRank:
    return ReuseRank(Tier.TOOL, tau_s)


FINISHED = ReuseRank(Tier.FINISHED, 0.0)


def run(policy: CacheWise, session: str, *, hits: Iterable[int] = (), new: Iterable[int] = ()) -> None:
    """One request: hits, then new blocks, then all are let go, tail first."""
    policy.serve(SessionId(session))
    blocks = [block(i) for i in hits]
    for each in blocks:
        policy.on_hit(each, was_free=True)
    for i in new:
        blocks.append(block(i))
        policy.on_cache(blocks[-1])
    policy.on_free(blocks[::-1])


def victims(policy: CacheWise, count: int) -> list[BlockId]:
    taken = []
    for _ in range(count):
        victim = policy.pop_victim()
        policy.on_evict(victim)
        taken.append(victim.id)
    return taken


def test_the_session_that_comes_back_last_goes_first_and_its_tail_before_its_head() -> None:
    policy = CacheWise(20, Told(soon=tool(1), late=tool(60)))
    run(policy, "late", new=[1, 2, 3])
    run(policy, "soon", new=[4, 5])
    assert victims(policy, 5) == [3, 2, 1, 5, 4]


def test_tiers_come_before_times() -> None:
    told = {tier.name: ReuseRank(tier, 100.0 - tier) for tier in Tier}
    policy = CacheWise(20, Told(told))
    for number, name in enumerate(told, 1):
        run(policy, name, new=[number])
    assert victims(policy, 5) == [5, 4, 3, 2, 1]


def test_a_branch_that_was_left_goes_before_the_tail_of_the_newest_prompt() -> None:
    policy = CacheWise(20, Told(a=tool(1)))
    run(policy, "a", new=[1, 2, 3, 4])
    run(policy, "a", hits=[1, 2], new=[5])
    assert victims(policy, 5) == [4, 3, 5, 2, 1]


def test_a_shared_block_goes_with_the_owner_that_comes_back_first() -> None:
    policy = CacheWise(20, Told(late=tool(60), soon=tool(1)))
    run(policy, "late", new=[1, 2, 3])
    run(policy, "soon", hits=[1], new=[4])
    assert victims(policy, 4) == [3, 2, 4, 1]


def test_a_block_hit_while_another_session_uses_it_belongs_to_both() -> None:
    policy = CacheWise(20, Told(late=tool(60), soon=tool(1), mid=tool(30)))
    policy.serve(SessionId("soon"))
    policy.on_cache(block(1))
    policy.serve(SessionId("late"))
    policy.on_hit(block(1), was_free=False)
    policy.on_free([block(1)])
    run(policy, "mid", new=[2])
    assert victims(policy, 2) == [2, 1]


def test_an_evicted_block_forgets_its_owners() -> None:
    policy = CacheWise(20, Told(late=tool(60), soon=tool(1)))
    run(policy, "soon", new=[1])
    assert victims(policy, 1) == [1]
    run(policy, "late", new=[1])
    run(policy, "soon", new=[2])
    assert victims(policy, 2) == [1, 2]


def test_ranks_are_read_again_after_three_steps_and_not_before() -> None:
    told = Told(a=tool(60), b=tool(1))
    policy = CacheWise(20, told)
    run(policy, "a", new=[1, 2, 3, 4])
    run(policy, "b", new=[5, 6])
    assert victims(policy, 1) == [4]
    assert told.asked == 2
    told.update(a=tool(1), b=tool(60))
    for _ in range(2):
        policy.begin_step()
        assert victims(policy, 1)[0] < 5
    assert told.asked == 2
    policy.begin_step()
    assert victims(policy, 3) == [6, 5, 1]
    assert told.asked == 4


def test_nothing_is_read_while_nothing_is_evicted() -> None:
    told = Told(a=tool(1))
    policy = CacheWise(20, told)
    for _ in range(50):
        policy.begin_step()
        run(policy, "a", hits=list(policy), new=[])
    assert told.asked == 0


def test_a_session_that_is_reconsidered_goes_at_the_next_victim() -> None:
    told = Told(a=tool(60), b=tool(1))
    policy = CacheWise(20, told)
    run(policy, "a", new=[1, 2, 3])
    run(policy, "b", new=[4, 5])
    assert victims(policy, 1) == [3]
    told["b"] = FINISHED
    policy.reconsider(SessionId("b"))
    policy.reconsider(SessionId("never heard of"))
    assert victims(policy, 3) == [5, 4, 2]
    assert told.asked == 3


def crowd(policy: CacheWise, told: Told, count: int, rank: ReuseRank) -> None:
    """Block 1 is served to ``count`` sessions of that rank, each with a block of its own."""
    for number in range(count):
        told[f"c{number}"] = rank
        run(policy, f"c{number}", hits=[1] if number else [], new=[number + 2] if number else [1, 2])


@pytest.mark.parametrize(("count", "last"), [(MOST_OWNERS, "served"), (MOST_OWNERS + 1, "crowd")])
def test_a_block_with_more_owners_than_are_remembered_goes_last(count: int, last: str) -> None:
    told = Told(served=ReuseRank(Tier.SERVED, -1.0))
    policy = CacheWise(20, told)
    crowd(policy, told, count, tool(60))
    run(policy, "served", new=[19])
    assert victims(policy, len(policy))[-2:] == ([1, 19] if last == "served" else [19, 1])


def test_a_crowd_of_which_all_remembered_are_finished_does_not_stay_for_ever() -> None:
    told = Told(soon=tool(1), done=FINISHED)
    policy = CacheWise(20, told)
    crowd(policy, told, MOST_OWNERS + 3, FINISHED)
    run(policy, "soon", new=[18])
    run(policy, "done", new=[19])
    assert victims(policy, len(policy))[-3:] == [19, 1, 18]


def test_the_rank_of_a_crowd_needs_only_one_of_those_remembered_to_be_there() -> None:
    told = Told(soon=tool(1))
    policy = CacheWise(20, told)
    crowd(policy, told, MOST_OWNERS + 3, FINISHED)
    told[f"c{MOST_OWNERS}"] = ReuseRank(Tier.HUMAN, 1e6)
    run(policy, "soon", new=[18])
    assert victims(policy, len(policy))[-1] == 1


def test_refuses_a_rebuild_every_zero_steps() -> None:
    with pytest.raises(ValueError, match="n_rebuild 0"):
        CacheWise(20, Told(), n_rebuild=0)


def test_ten_thousand_sessions_cost_a_bounded_number_of_readings_and_heap_moves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    moves = 0

    def counted(name: str) -> None:
        heap_function = getattr(cachewise, name)

        def count(*arguments: object) -> object:
            nonlocal moves
            moves += 1
            return heap_function(*arguments)

        monkeypatch.setattr(cachewise, name, count)

    for name in ("heappop", "heappush", "heapreplace"):
        counted(name)
    told = Told()
    policy = CacheWise(30_000, told)
    for number in range(10_000):
        told[f"s{number}"] = tool(float(number * 7919 % 10_000))
        run(policy, f"s{number}", new=range(3 * number + 1, 3 * number + 4))
    assert told.asked == 0
    for _ in range(300):
        policy.begin_step()
        before = told.asked
        victims(policy, 4)
        assert told.asked - before <= 4 * MOST_READ
    # What is read: each session once, then at most MOST_READ every third step.
    assert told.asked <= 10_000 + 100 * MOST_READ
    assert moves <= 2 * told.asked + 1_200


def test_a_rank_of_ten_thousand_is_at_most_twenty_readings_old() -> None:
    told = Told({f"s{number}": tool(0.0) for number in range(10_000)})
    policy = CacheWise(20_000, told)
    for number in range(10_000):
        run(policy, f"s{number}", new=[2 * number + 1, 2 * number + 2])
    victims(policy, 30)  # all were read by now
    told["s7000"] = FINISHED
    for _ in range(20):
        for _ in range(3):
            policy.begin_step()
        victims(policy, 1)
    assert {14001, 14002}.isdisjoint(policy)


def test_owners_that_lost_their_last_block_can_get_another_in_the_same_request() -> None:
    policy = CacheWise(20, Told(a=tool(1), b=tool(1)))
    policy.serve(SessionId("a"))
    policy.on_cache(block(1))  # and stays in use
    run(policy, "a", new=[2])
    run(policy, "b", hits=[2])
    assert victims(policy, 1) == [2]  # the only one of both
    policy.on_hit(block(1), was_free=False)
    policy.on_free([block(1)])
    assert victims(policy, 1) == [1]


def test_no_session_is_remembered_beyond_its_blocks() -> None:
    told, sizes = Told(), []
    policy = CacheWise(40, told)
    for turn in range(30):
        for number in range(5):
            name = f"turn {turn}, session {number}"
            told[name] = tool(float(number))
            run(policy, name, hits=[1, 2] if number else [], new=[number + 3] if number else [1, 2, 3])
        victims(policy, len(policy))
        policy.begin_step()
        told.clear()
        sizes.append(entries(policy))
    assert max(sizes[3:]) <= max(sizes[:3])


def test_entries_of_the_heap_do_not_pile_up() -> None:
    told = Told({f"s{number}": tool(float(number)) for number in range(20)})
    policy = CacheWise(100, told)
    sizes = []
    for turn in range(1_000):
        number = turn % 20
        mine = [5 * number + i for i in range(1, 6)]
        held = set(policy)
        run(
            policy,
            f"s{number}",
            hits=[i for i in mine if i in held],
            new=[i for i in mine if i not in held],
        )
        policy.begin_step()
        if turn % 3 == 0:
            victims(policy, 1)
        sizes.append(entries(policy))
    assert max(sizes[200:]) <= max(sizes[:200])
