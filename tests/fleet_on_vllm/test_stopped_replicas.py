"""A replica is killed in the middle and comes back: nobody waits for ever, and what was lost is known."""

from __future__ import annotations

from scripts.fleet import metrics
from scripts.fleet.drill import SESSIONS, run_drill
from scripts.fleet.local import Fleet
from scripts.fleet.sessions import Context, ask, ask_all

PATIENCE_S = 60.0  # not a limit on speed: whoever waits longer was forgotten
PER_REPLICA = SESSIONS // 2


def test_a_killed_replica_costs_its_streams_and_its_cache(fleet: Fleet) -> None:
    fleet.route("sticky_least_loaded")
    loss = run_drill(fleet)
    assert (loss.sessions, loss.moved_sessions, loss.under_way) == (SESSIONS, PER_REPLICA, PER_REPLICA)
    # Whole answers are asked for again, of the other replica. A stream that had begun cannot be.
    cut_off = loss.streams_under_way
    assert 1 <= cut_off < PER_REPLICA
    assert loss.outcomes == {"200": SESSIONS - cut_off, "cut off": cut_off}
    assert loss.retries >= PER_REPLICA - cut_off
    assert loss.longest_request_s < PATIENCE_S
    assert loss.lost_cached_tokens > 0
    assert loss.hit_rate_after < loss.hit_rate_before
    assert loss.noticed_after_s < PATIENCE_S
    assert loss.recovered_after_s < PATIENCE_S
    assert loss.served_again


def test_without_any_replica_clients_are_told_so(fleet: Fleet) -> None:
    fleet.route("round_robin")
    contexts = [Context(f"left alone {number}", "nobody", 64) for number in range(4)]
    for number in range(len(fleet.replicas)):
        fleet.kill(number)
    metrics.wait_until(lambda: not any(fleet.router.healthy().values()), "the router notices")
    answers = ask_all(fleet.router.base_url, [context.turn(16, 2) for context in contexts])
    assert {answer.status for answer in answers} == {503}
    assert all("No available workers" in answer.error for answer in answers)
    assert max(answer.took_s for answer in answers) < PATIENCE_S
    assert ask(fleet.router.base_url, contexts[0].turn(16, 2, is_streamed=True)).status == 503
