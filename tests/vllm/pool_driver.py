"""Operations on vLLM's own ``BlockPool`` with the plugin in it, each checked against ``Oracle``.

The driver plays the part of the cache manager: requests with block tables, prefixes that many share,
blocks that a connector goes on reading. After every operation the cheap part is compared: what was handed out
and in which order, both ends of the free list, the work done, callbacks. ``check`` compares all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

from vllm.v1.core.block_pool import BlockPool

from keepwarm.cache.pool import BlockPool as ReferencePool
from keepwarm.policies.base import BlockHash, BlockId
from keepwarm.vllm.counters import FAULT_KINDS, private_counters
from keepwarm.vllm.orders import MakeOrder, make_order
from keepwarm.vllm.pool import attach
from keepwarm.vllm.settings import Settings
from tests.vllm.pool_oracle import Oracle

HASH_TOKENS = 4


class Prompt(NamedTuple):
    """Content: requests of a family share it up to block ``fork``, requests of a branch all of it."""

    family: int
    branch: int
    fork: int

    def hashes(self, count: int) -> list[bytes]:
        """One for each ``HASH_TOKENS`` tokens, each of which stands for the whole prefix."""
        family, branch = self.family, self.branch
        return [
            b"%d/%d" % (family, at) if at < self.fork else b"%d/%d/%d/%d" % (family, branch, self.fork, at)
            for at in range(count)
        ]


class Table:
    """The blocks of one running request; the first ``cached`` have hashes."""

    def __init__(self, prompt: Prompt, blocks: list[Any], cached: int) -> None:
        self.prompt = prompt
        self.blocks = blocks
        self.cached = cached


class Driver:
    """One pool, what runs on it, and the oracle.

    ``block_hashes`` hashes name one block; with more than one there are partial entries, too. With
    ``reference`` keepwarm's own pool goes along, and only what it can express may be called.
    """

    def __init__(
        self,
        capacity_blocks: int,
        settings: Settings,
        *,
        block_hashes: int = 1,
        reference: Any = None,
        make_order: MakeOrder = make_order,
        oracle: Oracle | None = None,
    ) -> None:
        self.capacity_blocks = capacity_blocks
        self.block_hashes = block_hashes
        self.pool = BlockPool(capacity_blocks + 1, True, HASH_TOKENS)
        self.counters = private_counters()
        attach(self.pool, settings, self.counters, make_order)
        self.oracle = oracle or Oracle(capacity_blocks, settings)
        self.reference = ReferencePool(capacity_blocks, reference) if reference is not None else None
        self.tables: list[Table] = []
        self.counts: Counter[str] = Counter()
        self._called_back: list[int] = []

    @property
    def free_blocks(self) -> int:
        """As vLLM counts them."""
        return int(self.pool.get_num_free_blocks())

    def admit(self, prompt: Prompt, length: int) -> None:
        """Look up a prompt of ``length`` blocks, use what is cached, and take new blocks for the rest."""
        hashes = prompt.hashes(length * self.block_hashes)[self.block_hashes - 1 :: self.block_hashes]
        hits: list[Any] = []
        for block_hash in hashes[:-1]:  # the last block is always computed
            found = self.pool.get_cached_block(block_hash, [0])
            if found is None:
                break
            hits += found
        if len(set(map(id, hits))) != len(hits):  # one block under two partial entries
            return
        new_blocks = length - len(hits)
        if new_blocks + sum(block.ref_cnt == 0 for block in hits) > self.free_blocks:
            return
        free_hits = [block.ref_cnt == 0 for block in hits]
        self.pool.touch(hits)
        for block, was_free in zip(hits, free_hits, strict=True):
            self.oracle.hit(block.block_id, was_free=was_free)
        self._done("touch")
        self.counts["hit blocks"] += len(hits)
        asked = [BlockHash(hash(name)) for name in hashes[:-1]]
        taken = self._take(new_blocks, (asked, [BlockId(block.block_id) for block in hits]))
        self.tables.append(Table(prompt, hits + taken, len(hits)))

    def grow(self, index: int, count: int) -> None:
        """A request gets more blocks, if there are enough."""
        if self.tables and count <= self.free_blocks:
            self.tables[index % len(self.tables)].blocks += self._take(count, None)

    def cache(self, index: int, count: int) -> None:
        """``count`` more blocks of a request get their hashes."""
        if not self.tables:
            return
        table = self.tables[index % len(self.tables)]
        until = min(len(table.blocks), table.cached + count)
        new = table.blocks[table.cached : until]
        request = SimpleNamespace(
            block_hashes=table.prompt.hashes(until * self.block_hashes), num_prompt_tokens=1 << 30
        )
        self.pool.cache_full_blocks(
            request, table.blocks, table.cached, until, HASH_TOKENS * self.block_hashes, 0
        )
        for depth, block in enumerate(new, table.cached + 1):
            self.oracle.cache(block.block_id, depth * self.block_hashes)
        if self.reference is not None:
            hashes = [BlockHash(hash(name)) for name in request.block_hashes]
            blocks = [BlockId(block.block_id) for block in table.blocks]
            self.reference.cache_full_blocks(blocks, hashes, table.cached)
        table.cached = until
        self._done("cache_full_blocks")

    def free(self, index: int) -> None:
        """A request is over; its tail is freed first."""
        if self.tables:
            table = self.tables.pop(index % len(self.tables))
            self._release(table.blocks[::-1])
            if self.reference is not None:
                self.reference.free([BlockId(block.block_id) for block in table.blocks])
            self._done("free_blocks")

    def unpin(self, index: int, watched: int) -> None:
        """A request is over; ``watched`` of its blocks are read until they are reused."""
        if not self.tables:
            return
        table = self.tables.pop(index % len(self.tables))
        unpinned, others = table.blocks[:watched], table.blocks[watched:]
        self.pool.unpin_blocks(unpinned, lambda block: self._called_back.append(block.block_id))
        ids = [block.block_id for block in unpinned]
        self.oracle.unpin(ids, [block.block_id for block in unpinned if block.ref_cnt == 0])
        self._done("unpin_blocks")
        self._release(others[::-1])
        self._done("free_blocks")

    def evict(self, ids: set[int]) -> None:
        """What is cached in these blocks is invalid."""
        ids = {block_id % (self.capacity_blocks + 1) for block_id in ids}
        self.pool.evict_blocks(ids)
        for block_id in ids:  # the same set, so the same order
            self.oracle.evict(block_id)
        self._uncache(ids)
        self._done("evict_blocks")

    def reset(self) -> None:
        """Forget all content; refused while a request runs."""
        watched = sorted(self.oracle.watchers)
        done = self.pool.reset_prefix_cache()
        assert done == (not self.tables)
        if done:
            assert sorted(self._called_back) == watched
            self._called_back.clear()
            self.oracle.reset()
            if self.reference is not None:
                assert self.reference.reset()
        self._done("reset_prefix_cache" if done else "refused reset")

    def partial(self, index: int, hashes: int, *, replace: bool) -> None:
        """The first block of a request that is not full yet can be found by its first ``hashes`` hashes."""
        if not self.tables or self.block_hashes == 1:
            return
        table = self.tables[index % len(self.tables)]
        if table.cached == len(table.blocks):
            return
        block = table.blocks[table.cached]
        depth = table.cached * self.block_hashes + 1 + hashes % (self.block_hashes - 1)
        request = SimpleNamespace(block_hashes=table.prompt.hashes(depth), num_prompt_tokens=1 << 30)
        had = block.block_hash
        self.pool.cache_partial_block(
            request, block, depth * HASH_TOKENS, 0, HASH_TOKENS * self.block_hashes, replace
        )
        moved_on = had is None or block.block_hash != had
        self.oracle.cache(
            block.block_id, depth if moved_on or replace else self.oracle.depth_blocks[block.block_id]
        )
        self._done("cache_partial_block")

    def move(self, index: int) -> None:
        """The cached content of a request's last block goes to a new block, as before it is written over."""
        if not self.tables or not self.free_blocks:
            return
        table = self.tables[index % len(self.tables)]
        source = table.blocks[-1] if table.blocks else None
        if source is None or source.block_hash is None or source.ref_cnt != 1:
            return
        (copy,) = self._take(1, None)
        self.pool.move_block_hashes(source, copy)
        self.oracle.move(source.block_id, copy.block_id)
        table.cached = min(table.cached, len(table.blocks) - 1)
        self._done("move_block_hashes")
        self._release([copy])
        self._done("free_blocks")

    def _take(self, count: int, admitted: tuple[list[BlockHash], list[BlockId]] | None) -> list[Any]:
        """``get_new_blocks``: the victims are the oracle's, and the work is within its bounds."""
        oracle, counters = self.oracle, self.counters
        demotions = oracle.demotions
        last_resort = len(oracle.blank) + len(oracle.probation) + len(oracle.protected)
        scanned, demoted = counters.get("scanned_blocks"), counters.get("demoted_blocks")
        blocks = self.pool.get_new_blocks(count)
        ids = [block.block_id for block in blocks]
        expected = oracle.allocate(count)
        assert ids == expected
        assert all(block.ref_cnt == 1 and not block.is_null for block in blocks)
        fired = [block_id for block_id in ids if block_id in oracle.watchers]
        assert self._called_back == fired
        assert set(fired) <= set(ids[last_resort:])
        oracle.watchers.difference_update(fired)
        self._called_back.clear()
        self.counts["watched reused"] += len(fired)
        scanned = counters.get("scanned_blocks") - scanned
        demoted = counters.get("demoted_blocks") - demoted
        if oracle.settings.rule == "window":
            assert scanned <= oracle.settings.scan_limit
        else:
            assert demoted == oracle.demotions - demotions
            assert scanned <= (oracle.settings.scan_limit - 1 + demoted if demoted else 0)
        if self.reference is not None:
            self._take_from_reference(count, admitted, ids)
        self._done("get_new_blocks")
        return blocks

    def _take_from_reference(
        self, count: int, admitted: tuple[list[BlockHash], list[BlockId]] | None, ids: list[int]
    ) -> None:
        assert self.reference is not None
        asked, hits = admitted or ([], [])
        took = self.reference.admit(asked, hits, count) if admitted else self.reference.allocate(count)
        assert took.blocks[len(hits) :] == ids

    def _release(self, blocks: Sequence[Any]) -> None:
        """``free_blocks``, blocks that come first are reused first."""
        self.pool.free_blocks(blocks)
        released = [block for block in blocks if block.ref_cnt == 0]
        self.oracle.free(
            [block.block_id for block in released], [block.block_hash is not None for block in released]
        )

    def _uncache(self, ids: set[int]) -> None:
        """Blocks of running requests may have lost their hashes: they are not cached again."""
        for table in self.tables:
            if any(block.block_id in ids for block in table.blocks):
                table.cached = len(table.blocks)

    def _done(self, operation: str) -> None:
        """The cheap checks, after every operation."""
        self.counts[operation] += 1
        queue, oracle = self.pool.free_block_queue, self.oracle
        assert queue.num_free_blocks == oracle.free_blocks()
        head = oracle.blank or oracle.probation or oracle.protected or oracle.watched
        tail = oracle.watched or oracle.protected or oracle.probation or oracle.blank
        assert queue.fake_free_list_head.next_free_block.block_id == next(iter(head), -1)
        assert queue.fake_free_list_tail.prev_free_block.block_id == next(reversed(tail), -1)
        assert not self._called_back

    def check(self) -> None:
        """Everything: the list both ways, every block once, users, watchers, no fault."""
        queue, blocks = self.pool.free_block_queue, self.pool.blocks
        forwards = [block.block_id for block in queue.get_all_free_blocks()]
        backwards, block = [], queue.fake_free_list_tail.prev_free_block
        while block is not queue.fake_free_list_head:
            backwards.append(block.block_id)
            block = block.prev_free_block
        assert forwards == backwards[::-1] == self.oracle.order()
        users = Counter(block.block_id for table in self.tables for block in table.blocks)
        assert all(blocks[block_id].ref_cnt == users[block_id] for block_id in range(1, len(blocks)))
        assert sorted([*forwards, *users]) == list(range(1, len(blocks)))
        assert self.pool.null_block.is_null
        assert self.pool.null_block.block_id == 0
        assert set(self.pool._reuse_watchers) == self.oracle.watchers
        cached = {*self.oracle.probation, *self.oracle.protected}
        assert all(blocks[block_id].block_hash is not None for block_id in cached)
        assert all(blocks[block_id].block_hash is None for block_id in self.oracle.blank)
        assert not [kind for kind in FAULT_KINDS if self.counters.get(f"fault_{kind}")]
        if self.reference is not None:
            assert self.reference.free_order() == forwards
            self.reference.check_integrity([[BlockId(b.block_id) for b in t.blocks] for t in self.tables])
        self.counts["full checks"] += 1
