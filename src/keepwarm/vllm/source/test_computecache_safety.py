"""Safety of ComputeCache by itself: fake blocks, queue and pool, the standard library, no vLLM and no torch.

Run it by its path: it loads the policy module that was installed with it. Nothing depends on time or chance.
"""

# ruff: noqa: PT009 - unittest, for a vLLM tree may have no pytest

from __future__ import annotations

import importlib.util
import itertools
import random
import sys
import unittest
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from keepwarm.vllm.source.safety_fakes import BLOCK_TOKENS, POOL_BLOCKS, Block, Content, Pool, Queue, Request

policy: Any = None  # the module under test

RULES = ("boundary", "window")


def setUpModule() -> None:
    """Load the policy module beside this file, or the one of the checkout around it."""
    global policy  # noqa: PLW0603 - set once, before the first test
    if policy is None:
        here = Path(__file__).resolve()
        places = [here.with_name("computecache.py")]
        places += [folder / "vllm/v1/core/computecache.py" for folder in here.parents]
        place = next(place for place in places if place.is_file())
        spec = importlib.util.spec_from_file_location("computecache_under_test", place)
        assert spec is not None
        assert spec.loader is not None
        policy = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(policy)


class Server:
    """Serves prompts as vLLM does: what is cached is touched, the rest computed, all of it freed at last."""

    def __init__(self, **settings: Any) -> None:
        self.pool: Any = Pool()
        self.counters = policy.private_counters()
        if settings:
            unhurried = {"decision_budget_us": 10**9}  # no fault on a slow machine
            policy.attach(self.pool, policy.Settings(**unhurried, **settings), self.counters)

    def admit(self, prompt: int, blocks: int) -> tuple[list[Block], int]:
        """The prompt's blocks, and how many of them were cached."""
        cached: list[Block] = []
        while len(cached) < blocks - 1:  # the last block is always computed
            found = self.find((prompt, len(cached)))
            if found is None:
                break
            cached.append(found)
        self.pool.touch(cached)
        table = cached + self.pool.get_new_blocks(blocks - len(cached))
        request = Request([(prompt, depth) for depth in range(blocks)], blocks * BLOCK_TOKENS)
        self.cache(request, table, len(cached), blocks)
        return table, len(cached)

    def find(self, content: Content) -> Block | None:
        """A block that holds ``content``."""
        found: Block | None = self.pool.cached_block_hash_to_block.get_one_block(content)
        return found

    def cache(self, request: Request, table: list[Block], cached: int, blocks: int) -> None:
        """Blocks from the ``cached``-th on get their hashes."""
        self.pool.cache_full_blocks(request, table, cached, blocks, BLOCK_TOKENS, 0)

    def serve(self, prompt: int, blocks: int) -> int:
        """Admit, finish and free a request; how many of its blocks were cached."""
        table, cached = self.admit(prompt, blocks)
        self.pool.free_blocks(reversed(table))
        return cached

    def order(self) -> list[int]:
        """Ids of the free blocks, next victim first."""
        return [block.block_id for block in self.pool.free_block_queue]

    def check(self, tables: Iterable[Sequence[Block]] = ()) -> None:
        """Every block is free once, or in use, or the null block; no free one is in use."""
        used = {block.block_id for table in tables for block in table}
        free = self.order()
        assert len(free) == len(set(free)) == self.pool.free_block_queue.num_free_blocks
        assert used.isdisjoint(free)
        assert used | set(free) == set(range(1, POOL_BLOCKS))
        assert all(self.pool.blocks[block_id].ref_cnt == 0 for block_id in free)


def random_service(server: Server, seed: int, steps: int = 400) -> list[list[int]]:
    """Overlapping requests, connector reads, partial blocks and resets; the free list after each step."""
    choose = random.Random(seed)  # noqa: S311 - a repeatable stream
    orders: list[list[int]] = []
    running: list[list[Block]] = []
    for _ in range(steps):
        action = choose.random()
        if action < 0.5 and server.pool.free_block_queue.num_free_blocks >= 12:
            running.append(server.admit(choose.randrange(12), choose.randrange(2, 12))[0])
        elif action < 0.6 and server.pool.free_block_queue.num_free_blocks:
            running.append(server.pool.get_new_blocks(1))  # never gets a hash
        elif action < 0.65 and running:
            server.pool.unpin_blocks(running.pop(choose.randrange(len(running))), lambda _: None)
        elif action < 0.66:
            server.pool.reset_prefix_cache()
        elif running:
            server.pool.free_blocks(reversed(running.pop(choose.randrange(len(running)))))
        server.check(running)
        orders.append(server.order())
    return orders


class TestStockOrder(unittest.TestCase):
    """What does not ask for the policy does not get it."""

    def test_lru_keeps_the_stock_order(self) -> None:
        for seed in range(20):
            server = Server(mode="lru")
            self.assertEqual(random_service(server, seed), random_service(Server(), seed))
            self.assertIs(type(server.pool.free_block_queue), Queue)

    def test_an_invalid_mode_is_lru(self) -> None:
        reading = policy.read_settings({"COMPUTECACHE_MODE": "fastest"})
        self.assertEqual(reading.settings.mode, "lru")
        self.assertEqual(len(reading.warnings), 1)
        server = Server(mode=reading.settings.mode)
        self.assertEqual(random_service(server, 1), random_service(Server(), 1))

    def test_invalid_numbers_are_the_defaults(self) -> None:
        names = ("SCAN_LIMIT", "REUSE_WEIGHT", "PROTECTED_SHARE", "LOG_EVERY", "FAULT_LIMIT")
        for text in ("-1", "many", "", "nan"):
            reading = policy.read_settings({f"COMPUTECACHE_{name}": text for name in names})
            self.assertEqual(reading.settings, policy.Settings(), text)
            self.assertEqual(len(reading.warnings), len(names), text)

    def test_nothing_happens_unless_it_is_asked_for(self) -> None:
        self.assertFalse(policy.is_asked_for({}))
        self.assertTrue(policy.is_asked_for({"COMPUTECACHE_MODE": "lru"}))


class TestActiveOrder(unittest.TestCase):
    """What the policy does to the order, and what it leaves alone."""

    def test_blocks_that_were_never_hit_go_first(self) -> None:
        server = Server(mode="active")
        hot, _ = server.admit(prompt=0, blocks=10)
        server.pool.free_blocks(reversed(hot))
        self.assertEqual(server.serve(prompt=0, blocks=10), 9)
        for prompt in range(1, 200):
            server.serve(prompt, blocks=20)
        self.assertEqual(server.serve(prompt=0, blocks=10), 9)
        kept = {block.block_id for block in hot[:9]}
        self.assertEqual(set(server.order()[-9:]), kept)

    def test_stock_loses_what_the_policy_keeps(self) -> None:
        server = Server()
        server.serve(prompt=0, blocks=10)
        server.serve(prompt=0, blocks=10)
        for prompt in range(1, 8):
            server.serve(prompt, blocks=20)
        self.assertEqual(server.serve(prompt=0, blocks=10), 0)

    def test_the_same_requests_give_the_same_order(self) -> None:
        for rule in RULES:
            first, again = (random_service(Server(mode="active", rule=rule), seed=7) for _ in range(2))
            self.assertEqual(first, again)

    def test_no_block_is_lost_doubled_or_taken_while_in_use(self) -> None:
        for rule in RULES:
            for seed in range(40):
                server = Server(mode="active", rule=rule, protected_share=0.2, least_stale_blocks=0)
                random_service(server, seed)
                faults = {kind: server.counters.get(f"fault_{kind}") for kind in policy.FAULT_KINDS}
                self.assertEqual(faults, dict.fromkeys(faults, 0))

    def test_the_null_block_is_never_handed_out(self) -> None:
        for rule in RULES:
            server = Server(mode="active", rule=rule)
            everything = server.pool.get_new_blocks(POOL_BLOCKS - 1)
            self.assertNotIn(server.pool.null_block, everything)
            self.assertEqual(server.order(), [])

    def test_a_watched_block_is_left_alone_until_nothing_else_is_free(self) -> None:
        for rule in RULES:
            server = Server(mode="active", rule=rule)
            reused: list[Block] = []
            watched = server.admit(prompt=0, blocks=4)[0]
            server.pool.unpin_blocks(watched, reused.append)
            for prompt in range(1, 60):
                server.serve(prompt, blocks=20)
            self.assertEqual(reused, [])
            self.assertEqual(server.order()[-4:], [block.block_id for block in watched])
            server.pool.get_new_blocks(POOL_BLOCKS - 1)
            self.assertEqual(reused, watched)

    def test_a_decision_reads_no_more_keep_values_than_it_may(self) -> None:
        for rule, scan_limit in itertools.product(RULES, (1, 4, 16)):
            server = Server(mode="active", rule=rule, scan_limit=scan_limit, protected_share=0.1)
            get = server.counters.get
            for step in range(600):
                before = get("decisions"), get("scanned_blocks"), get("demoted_blocks")
                server.serve(step if step % 3 == 0 else step // 3 % 5, blocks=7)
                read, moved = get("scanned_blocks") - before[1], get("demoted_blocks") - before[2]
                self.assertEqual(get("decisions") - before[0], 1)
                # For each block that the boundary demotes, another enters the scan_limit that are compared.
                more = max(0, moved - 1) if rule == "boundary" else 0
                self.assertLessEqual(read, scan_limit + more)
            self.assertGreater(get("scanned_blocks"), 0)


class TestFaults(unittest.TestCase):
    """Whatever goes wrong inside the policy, vLLM's own order goes on."""

    def test_a_fault_is_a_plain_pop(self) -> None:
        for rule in RULES:
            server = Server(mode="active", rule=rule)
            for prompt in range(3):
                server.serve(prompt, blocks=20)
            before = server.order()
            with self.assertLogs("vllm.computecache", "WARNING") as log:
                break_decisions(server)
                taken = server.pool.get_new_blocks(5)
                server.pool.get_new_blocks(1)
            self.assertEqual([block.block_id for block in taken], before[:5])
            self.assertEqual(server.counters.get("fault_allocate"), 2)
            self.assertEqual(len(log.output), 1)  # once for each kind

    def test_a_pinned_block_in_the_free_list_is_a_fault(self) -> None:
        server = Server(mode="active", protected_share=0.0, least_stale_blocks=0, stale_turnovers=0.0)
        server.serve(prompt=0, blocks=10)
        server.serve(prompt=0, blocks=10)
        pinned = server.pool.blocks[server.order()[-1]]
        pinned.ref_cnt = 1
        with self.assertLogs("vllm.computecache", "WARNING"):
            taken = server.pool.get_new_blocks(20)
        self.assertNotIn(pinned, taken)
        self.assertGreater(server.counters.get("fault_pinned"), 0)

    def test_after_too_many_faults_the_queue_is_stock(self) -> None:
        for rule in RULES:
            server = Server(mode="active", rule=rule, fault_limit=3)
            server.serve(prompt=0, blocks=10)
            with self.assertLogs("vllm.computecache", "WARNING"):
                break_decisions(server)
                for prompt in range(1, 5):
                    server.serve(prompt, blocks=3)
            self.assertIs(type(server.pool.free_block_queue), Queue)
            self.assertEqual(server.counters.get("tripped"), 1)
            self.assertEqual(server.counters.get("fault_allocate"), 3)
            self.assertEqual(policy.MODES[server.counters.get("mode") - 1], "lru")
            random_service(server, seed=3)


def break_decisions(server: Server) -> None:
    """Let every decision of the policy raise."""

    def fail(*_: object) -> None:
        raise RuntimeError("injected")

    keeper = server.pool.free_block_queue.computecache
    keeper.quiet_until, keeper.policy.front, keeper.policy.on_allocate = 0, lambda: (None, 0), fail
    keeper.plan()


if __name__ == "__main__":
    unittest.main()
