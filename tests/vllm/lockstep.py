"""vLLM and the model side by side: the same requests, and after every step nothing may differ."""

from __future__ import annotations

from collections import Counter, deque
from typing import Any

import numpy as np

from keepwarm.cache.pool import BlockPool
from keepwarm.policies.lru import Lru
from keepwarm.policies.sessions import SessionId
from keepwarm.serving.base import RequestId, ServerConfig, ServerRequest
from keepwarm.serving.engine import Engine
from keepwarm.trace.hashes import block_hashes
from tests.vllm.real import Call, RealServer, RealStep

FULL_CHECK_STEPS = 64  # between comparisons of every block's content, users and duplicates
RECENT_EVENTS = 12


class Difference(AssertionError):
    """vLLM and the model disagree. The message says at which step, both values, and what led there."""


class Contents:
    """Which of our hashes names the same content as which of vLLM's: one to one, or a side is wrong."""

    def __init__(self) -> None:
        self._ours: dict[bytes, int] = {}
        self._theirs: dict[int, bytes] = {}

    def link(self, theirs: bytes, ours: int) -> None:
        if self._ours.setdefault(theirs, ours) != ours or self._theirs.setdefault(ours, theirs) != theirs:
            raise Difference(f"one content, two hashes: vLLM's {theirs.hex()}, ours {ours:x}")

    def ours(self, theirs: bytes) -> int | None:
        return self._ours.get(theirs)  # none if no request has such a block


class Lockstep:
    """One server on each side. ``counts`` are what happened, counted while it was compared."""

    def __init__(self, config: ServerConfig) -> None:
        self.config = config
        self.real = RealServer(config)
        pool = BlockPool(config.capacity_blocks, Lru(config.capacity_blocks))
        self.model = Engine(config, pool)
        self.counts: Counter[str] = Counter()
        self.now_s = 0.0
        self._contents = Contents()
        self._hashes: dict[str, list[int]] = {}
        self._linked: dict[str, int] = {}
        self._recent: deque[tuple[str, Any]] = deque(maxlen=RECENT_EVENTS)

    def add(self, call: Call) -> None:
        """A request arrives on both sides, hashed by each in its own way."""
        self._note("add", call)
        ids = np.array(call.prompt + call.output, dtype=np.int32)
        hashes = block_hashes(ids, self.config.block_size, salt=call.salt, lora=call.lora).tolist()
        session = SessionId(call.session or "")
        self.model.add(
            ServerRequest(
                RequestId(call.id), len(call.prompt), len(call.output), hashes, call.skip_reads, session
            ),
            self.now_s,
        )
        self.real.add(call)
        self._hashes[call.id], self._linked[call.id] = hashes, 0
        self._link(call.id)
        self.counts["requests"] += 1

    def abort(self, request_id: str) -> None:
        """A client gives up."""
        self._note("abort", request_id)
        aborted = self.model.abort(RequestId(request_id))
        self._same("aborted", aborted, self.real.abort(request_id))
        self.counts["aborts"] += aborted
        self._forget(request_id)
        self._compare_state()

    def reset_cache(self, *, preempt_running: bool = False) -> bool:
        """An operator resets the cache; refused while requests run, unless they are preempted for it."""
        self._note("reset", preempt_running)
        done = self.model.reset_cache(preempt_running=preempt_running)
        self._same("reset", done, self.real.reset_cache(preempt_running=preempt_running))
        self.counts["resets" if done else "refused resets"] += 1
        self._compare_state()
        return done

    def step(self) -> bool:
        """One step on both sides; False if neither could do anything."""
        ours, theirs = self.model.step(self.now_s), self.real.step()
        self._note("step", theirs.scheduled)
        self._same("scheduled tokens", list(ours.scheduled.items()), theirs.scheduled)
        self._same("hit tokens", ours.hit_tokens, theirs.hit_tokens)
        self._same("evicted blocks", ours.evicted, [self._contents.ours(block) for block in theirs.evicted])
        self._same("preempted", set(ours.preempted), theirs.preempted)
        self._same("finished", ours.finished, theirs.finished)
        self._same("look-up counts", self.model.lookups, self.real.lookups)
        self._count(theirs)
        for request_id, _ in theirs.scheduled:
            self._link(request_id)
        for request_id in theirs.finished:
            self._forget(request_id)
        self._compare_state()
        if self.counts["steps"] % FULL_CHECK_STEPS == 0:
            self.check_blocks()
        return bool(theirs.scheduled)

    def drain(self) -> None:
        """Steps until nothing waits or runs."""
        while len(self.model):
            if not self.step():
                raise Difference(self._message("requests wait for ever", len(self.model.waiting), 0))
        self.check_blocks()

    def check_blocks(self) -> None:
        """Every block: content, users, and which of several with the same content a look-up returns."""
        self.model.pool.check_integrity(state.table for state in self.model.running)
        theirs = [
            (self._ours(block.block_hash), block.ref_cnt)
            for block in self.real.pool.blocks
            if not block.is_null
        ]
        pool = self.model.pool
        ours = [
            (content and content.hash, users)
            for content, users in zip(pool.contents[1:], pool.ref_counts[1:], strict=True)
        ]
        self._same("blocks", ours, theirs)
        for block in self.real.pool.blocks:
            if block.block_hash is not None:
                first = self.real.pool.cached_block_hash_to_block.get_one_block(block.block_hash)
                self._same("look-up", pool.lookup([self._ours(block.block_hash)]), [first.block_id])
        for state in self.model.running:
            table = self.real.scheduler.kv_cache_manager.get_block_ids(state.request.id)[0]
            self._same(f"blocks of {state.request.id}", state.table, table)

    def _compare_state(self) -> None:
        scheduler, pool = self.real.scheduler, self.model.pool
        self._same(
            "running", [s.request.id for s in self.model.running], [r.request_id for r in scheduler.running]
        )
        self._same(
            "waiting", [s.request.id for s in self.model.waiting], [r.request_id for r in scheduler.waiting]
        )
        self._compare_free()
        self._same("usage", 1.0 - pool.free_blocks / pool.capacity_blocks, scheduler.get_kv_cache_usage())

    def _compare_free(self) -> None:
        self._same("free queue", self.model.pool.free_order(), list(self.real.free_order()))

    def _count(self, theirs: RealStep) -> None:
        counts = self.counts
        counts["steps"] += 1
        counts["scheduled tokens"] += sum(tokens for _, tokens in theirs.scheduled)
        counts["hit tokens"] += sum(theirs.hit_tokens.values())
        counts["admissions"] += len(theirs.hit_tokens)
        counts["evictions"] += len(theirs.evicted)
        counts["preemptions"] += len(theirs.preempted)
        counts["finished"] += len(theirs.finished)

    def _link(self, request_id: str) -> None:
        """Pair the hashes of blocks that became full on vLLM's side with ours."""
        theirs, linked = self.real.requests[request_id].block_hashes, self._linked[request_id]
        if len(theirs) > linked:
            for their_hash, our_hash in zip(theirs[linked:], self._hashes[request_id][linked:], strict=False):
                self._contents.link(their_hash, our_hash)
            self._linked[request_id] = len(theirs)

    def _forget(self, request_id: str) -> None:
        self._hashes.pop(request_id, None)
        self._linked.pop(request_id, None)
        self.real.forget(request_id)

    def _ours(self, block_hash: bytes | None) -> int | None:
        return None if block_hash is None else self._contents.ours(self.real.content(block_hash))

    def _note(self, event: str, detail: Any) -> None:
        self._recent.append((event, detail))

    def _same(self, what: str, ours: Any, theirs: Any) -> None:
        self.counts["comparisons"] += 1
        if ours != theirs:
            raise Difference(self._message(what, ours, theirs))

    def _message(self, what: str, ours: Any, theirs: Any) -> str:
        return "\n".join(
            (
                f"step {self.counts['steps'] + 1}: {what} differ",
                f"  {self.config}",
                f"  ours   {ours!r}",
                f"  vLLM's {theirs!r}",
                *(f"  before: {event} {detail!r}" for event, detail in self._recent),
            )
        )
