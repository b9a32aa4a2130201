"""Fewest missing blocks first, longest prefix first, and what they look at."""

from __future__ import annotations

from keepwarm.scheduling.cachewise import CacheWise
from keepwarm.scheduling.longest_prefix import LongestPrefix
from tests.scheduling.servers import Order, SmallServer, chain


def served(server: SmallServer) -> str:
    """Sessions in the order of their admission, one per step; none of them runs for long."""
    order = ""
    while len(server.order):
        server.order.begin_step(server.now_s)
        first = server.order.first()
        server.order.admitted(first)
        server.order.released(first)
        order += first.session
    return order


def crowd(order: Order) -> SmallServer:
    """Of needed blocks are missing: a 10 of 100, b 9 of 10, c 10 of 40, d all 200."""
    server = SmallServer(order)
    for session, cached in (("a", 90), ("b", 1), ("c", 30)):
        server.cache(chain(session, cached))
    for session, need in (("a", 100), ("b", 10), ("c", 40), ("d", 200)):
        server.ask(session, need)
    return server


def test_fewest_missing_first_and_ties_by_arrival() -> None:
    assert served(crowd(CacheWise)) == "bacd"


def test_longest_prefix_first() -> None:
    assert served(crowd(LongestPrefix)) == "acbd"


def test_who_lost_its_blocks_falls_back() -> None:
    server = crowd(CacheWise)
    for block in chain("b", 1) + chain("a", 90)[50:]:
        del server.cached[block]
    assert served(server) == "bcad"  # b: 10 and a: 50 of them missing by now


def test_who_became_cheaper_is_found() -> None:
    server = crowd(CacheWise)
    server.cache(chain("d", 199))
    for _ in range(4):
        server.order.begin_step(server.now_s)
        first = server.order.first()
    assert first is not None
    assert first.session == "d"


def test_many_that_lost_their_blocks_are_not_all_looked_at_in_one_step() -> None:
    server = SmallServer(CacheWise)
    for number in range(50):
        server.cache(chain(f"s{number}", 9))
        server.ask(f"s{number}", 10 + number % 7)
    server.ask("dear", 900)
    server.cached.clear()
    for _ in range(20):
        server.order.begin_step(server.now_s)
        first = server.order.first()
        assert first is not None
        assert first.session != "dear"
    assert first.missing_blocks == 10
