"""Which replica the real router sends a session to, and what of the cache is there."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest

from scripts.fleet.local import Fleet, replica_name
from scripts.fleet.router import Policy
from scripts.fleet.sessions import Answer, Context, Turn, ask, ask_all

BLOCK_TOKENS = 16
BOTH = {replica_name(0), replica_name(1)}


def rounds(
    fleet: Fleet, contexts: list[Context], count: int = 3, renamed: bool = False
) -> list[list[Answer]]:
    """Each session's turns, all sessions at once in each; with ``renamed`` no two turns have the same id."""
    answers = []
    for number in range(count):
        turns = [context.turn(32, 24) for context in contexts]
        if renamed:
            turns = [turn._replace(session=f"{turn.session} as {number}") for turn in turns]
        answers.append(ask_all(fleet.router.base_url, turns))
    assert {answer.status for answered in answers for answer in answered} == {200}
    return answers


def visited(answers: list[list[Answer]]) -> list[set[str]]:
    """The replicas that each session saw."""
    seen = defaultdict(set)
    for answered in answers:
        for session, answer in enumerate(answered):
            seen[session].add(answer.replica)
    return list(seen.values())


def contexts_of(seed: str, count: int = 6) -> list[Context]:
    return [Context(f"{seed} {number}", seed, 160) for number in range(count)]


@pytest.mark.parametrize("policy", ["sticky_least_loaded", "consistent_hash"])
def test_a_session_stays_where_its_blocks_are(fleet: Fleet, policy: Policy) -> None:
    fleet.route(policy)
    first, *later = rounds(fleet, contexts_of(policy, 8))
    assert all(len(replicas) == 1 for replicas in visited([first, *later]))
    for before, after in zip([first, *later], later, strict=False):
        for last, answer in zip(before, after, strict=True):
            assert answer.cached_tokens >= last.prompt_tokens // BLOCK_TOKENS * BLOCK_TOKENS
    if policy == "sticky_least_loaded":  # the other one leaves it to the names
        assert Counter(answer.replica for answer in first) == dict.fromkeys(BOTH, 4)


def test_a_prefix_is_followed_whatever_the_session_is_called(fleet: Fleet) -> None:
    fleet.route("cache_aware")
    first, *later = rounds(fleet, contexts_of("prefix"), renamed=True)
    assert all(len(replicas) == 1 for replicas in visited([first, *later]))
    assert all(answer.cached_tokens >= 160 for answered in later for answer in answered)


def test_round_robin_spreads_a_session_over_both(fleet: Fleet) -> None:
    fleet.route("round_robin")
    context = Context("alone", "round robin", 160)
    answers = [ask(fleet.router.base_url, context.turn(32, 2)) for _ in range(4)]
    replicas = [answer.replica for answer in answers]
    assert set(replicas) == BOTH
    assert replicas[:2] == replicas[2:]
    assert answers[1].cached_tokens == 0  # the other replica knows nothing of it


def test_without_the_header_all_sessions_are_one_to_the_router(fleet: Fleet) -> None:
    """Why docs/how-to/run-a-fleet.md asks for it: ids in bodies reach vLLM, and no policy reads them."""
    fleet.route("consistent_hash")
    turns = [context.turn(32, 2) for context in contexts_of("headless")]
    answers = [ask(fleet.router.base_url, Turn(*turn), is_named_in_header=False) for turn in turns]
    assert len({answer.replica for answer in answers}) == 1
