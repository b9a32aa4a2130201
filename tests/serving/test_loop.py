"""A run worked out by hand, and what the clock and the counts do."""

from __future__ import annotations

import pytest

from keepwarm.serving.base import ServerConfig
from keepwarm.serving.costs import Coefficients
from tests.serving.runs import BLOCK, run, session, turn

# A step takes 1 s, and 0.1 s for each token beyond what 1 s would have read anyway.
PLAIN = Coefficients(token_s=0.1, pair_s=0.0, weights_s=0.0, context_s=0.0, overhead_s=1.0)


def config_of(capacity_blocks: int = 10, step_tokens: int = 8, **limits: int) -> ServerConfig:
    return ServerConfig(
        BLOCK, capacity_blocks, capacity_blocks * BLOCK + 1, step_tokens=step_tokens, **limits
    )


def test_one_session_by_hand() -> None:
    """10 tokens in chunks of 8 and 2, then a decode; 5 s later the same prefix and 4 tokens more.

    Steps: 1.8 s, 1.2 s (first token), 1.1 s (second, the last): ends at 4.1. Next request at 9.1: 14 tokens,
    of which the 8 of two full blocks are hit, 6 to compute: 1.6 s, first and only token at 10.7.
    """
    traces = [session("a", turn(10, 2, [1, 2]), turn(14, 1, [1, 2, 3], gap_s=5.0))]
    told = run(traces, config_of(), costs=PLAIN)
    first, second = told.ledger.served
    assert (first.arrival_s, first.admitted_s) == (0.0, 0.0)
    assert first.first_token_s == pytest.approx(3.0)
    assert first.end_s == pytest.approx(4.1)
    assert second.arrival_s == pytest.approx(9.1)
    assert second.first_token_s == second.end_s == pytest.approx(10.7)
    window = told.ledger.window
    assert (window.steps, window.query_tokens, window.hit_tokens) == (4, 24, 8)
    assert window.at_s == pytest.approx(10.7)
    assert window.recomputed_blocks == 0


def test_who_arrives_during_a_step_is_heard_of_at_its_end() -> None:
    traces = [session("a", turn(3, 1), turn(3, 1, gap_s=0.5)), session("b", turn(16, 1))]
    told = run(traces, config_of(), costs=PLAIN)
    again = next(one for one in told.ledger.served if one.client.session == "a" and one.turn == 1)
    assert again.arrival_s == pytest.approx(2.3)  # 1.8 s for 3 + 5 tokens, and 0.5 s
    assert again.admitted_s == pytest.approx(1.8 * 2)
    assert again.queue_wait_s == pytest.approx(1.3)


def test_what_was_lost_and_is_computed_again_is_counted() -> None:
    """Two sessions of 5 blocks take turns in a cache of 6: each comes back to nothing but its first block."""
    traces = [
        session("a", turn(20, 1, range(5)), turn(20, 1, range(5), gap_s=3.0)),
        session("b", turn(20, 1, range(10, 15)), turn(20, 1, range(10, 15), gap_s=3.0)),
    ]
    told = run(traces, config_of(capacity_blocks=6), costs=PLAIN)
    window = told.ledger.window
    computed_blocks = 4 * 5 - window.hit_tokens // BLOCK
    assert window.recomputed_blocks == computed_blocks - 10
    assert window.evicted_blocks == computed_blocks - 6
    assert window.recomputed_blocks > 0


def test_sessions_share_equal_prefixes() -> None:
    traces = [session("a", turn(16, 1, range(4))), session("b", turn(17, 1, range(4)))]
    together = run(traces, config_of(max_running_requests=1), costs=PLAIN)
    assert together.ledger.window.hit_tokens == 16
    apart = [traces[0], session("b", turn(17, 1, range(10, 14)))]
    assert run(apart, config_of(max_running_requests=1), costs=PLAIN).ledger.window.hit_tokens == 0


def test_the_slower_roof_decides() -> None:
    costs = Coefficients(token_s=1.0, pair_s=0.5, weights_s=10.0, context_s=0.25, overhead_s=2.0)
    assert costs.step_s(tokens=1, pairs=4, context_tokens=4) == 2.0 + 10.0 + 1.0
    assert costs.step_s(tokens=20, pairs=4, context_tokens=4) == 2.0 + 20.0 + 2.0
