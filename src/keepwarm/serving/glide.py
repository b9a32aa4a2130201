"""Many steps at once, as long as every step does the same to the same batch.

Between two events (an arrival, an admission, a prompt that is through, an answer that ends, a preemption) a
step gives each running request as many tokens as the step before. Those steps are done here in a thin loop:
blocks are taken and cached by ``growth.py``, the counts of each request brought up to date once at the
end. What queue order and victim order are told, and when, is what ``Engine.step`` tells them; the outcome is
the same, event for event (``tests/serving/test_glide.py``).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from keepwarm.scheduling.base import QueueOrder
from keepwarm.scheduling.fcfs import Fcfs
from keepwarm.scheduling.sessions import SessionTable
from keepwarm.serving.base import RequestState, ServerConfig, StepResult
from keepwarm.serving.costs import Coefficients, pairs_within
from keepwarm.serving.engine import Engine
from keepwarm.serving.growth import Growth, Share
from keepwarm.serving.pool import ServingPool


class Glide(NamedTuple):
    """``steps`` whole steps were done and ended at ``now_s``; they evicted ``evicted_blocks``.

    ``result`` is of one step more, which began at ``now_s`` and admitted somebody; None if there is none.
    """

    steps: int
    now_s: float
    evicted_blocks: int
    result: StepResult | None = None


class GlidingEngine(Engine):
    """An engine that can also do many equal steps at once.

    ``probed_blocks`` counts how often its queue order asked for a block, ``reloaded_blocks`` those read from
    elsewhere.
    """

    pool: ServingPool

    def __init__(
        self,
        config: ServerConfig,
        pool: ServingPool,
        order: type[QueueOrder[RequestState]] = Fcfs,
        sessions: SessionTable | None = None,
    ) -> None:
        super().__init__(config, pool, order, sessions)
        self._begun = False  # queue order and victim order know already of the step to come
        self._blocked: _Blocked | None = None
        self._growth: Growth | None = None  # of the glide that is going on
        self._result = StepResult()  # of it
        self.probed_blocks = self.reloaded_blocks = 0

    def is_cached(self, block_hash: Hashable) -> bool:
        """As the engine's, counted."""
        self.probed_blocks += 1
        if self._growth is not None:
            self._growth.catch_up(self._result)
        return self.pool.is_cached(block_hash)

    def _begin_step(self, now_s: float) -> None:
        if not self._begun:
            super()._begin_step(now_s)
        self._begun = False

    def take_reload_s(self) -> float:
        """Seconds by which reading from elsewhere lengthens the step done last: none here. Mutates."""
        return 0.0

    def glide(self, now_s: float, until_s: float, costs: Coefficients) -> Glide:
        """Do the steps that are alike and begin before ``until_s``, the first one now. Mutates."""
        if not self.running:
            return Glide(0, now_s, 0)
        self._begin_step(now_s)
        self._begun = True
        chunk_tokens = self._chunk_tokens()
        shares = self._shares(chunk_tokens)
        most_steps = min(share.steps_alike() for share in shares)
        if most_steps < 1:
            return Glide(0, now_s, 0)
        return self._glide(shares, chunk_tokens, most_steps, now_s, until_s, costs)

    def _shares(self, chunk_tokens: int) -> list[Share]:
        """Who gets what in a step, as ``_continue_running`` would."""
        budget_tokens = self.config.step_tokens
        shares: list[Share] = []
        for state in self.running:
            if not budget_tokens:
                break
            chunk = min(state.known_tokens - state.computed_tokens, chunk_tokens, budget_tokens)
            budget_tokens -= chunk
            shares.append(Share(state, chunk, state.computed_tokens))
        return shares

    def _glide(
        self,
        shares: Sequence[Share],
        chunk_tokens: int,
        most_steps: int,
        now_s: float,
        until_s: float,
        costs: Coefficients,
    ) -> Glide:
        work = _Work(shares)
        budget_tokens = self.config.step_tokens - work.tokens
        admits = (
            budget_tokens > 0
            and len(self.waiting) > 0
            and len(self.running) < self.config.max_running_requests
        )
        result = self._result = StepResult()
        growth = self._growth = Growth(self.pool, shares, self.config.block_size, most_steps)
        due = 0 if growth.later else self._look_ahead(shares)
        steps = 0
        while steps < most_steps and now_s < until_s:
            if not self._begun:
                self._begin_step(now_s)
                self._begun = True
                if self._chunk_tokens() != chunk_tokens:
                    break
            if steps + 1 == due:
                if not self._grow(shares, growth, due):
                    break
                due = min(share.due for share in shares)
            growth.steps = steps + 1
            if admits:
                growth.catch_up(result)
                self._admit_waiting(result, budget_tokens, chunk_tokens)
                if result.hit_tokens:
                    self._growth = None
                    return self._last_step(shares, steps, now_s, result)
            self._begun = False
            now_s += work.step_s(costs)
            steps += 1
        growth.catch_up(result)
        self._growth = None
        for share in shares:
            share.move_on(steps, samples=steps)
        return Glide(steps, now_s, len(result.evicted))

    def _last_step(self, shares: Sequence[Share], steps: int, now_s: float, result: StepResult) -> Glide:
        """Somebody was admitted after ``steps`` whole steps: finish that step as the engine does."""
        self._begun = False
        for share in shares:
            share.move_on(steps + 1, samples=steps)
        batch = {share.state.request.id: share.chunk for share in shares}
        result.scheduled = batch | result.scheduled
        self._sample(result)
        return Glide(steps, now_s, 0, result)

    def _look_ahead(self, shares: Sequence[Share]) -> int:
        """When the first of them is due."""
        for share in shares:
            share.look_ahead(self.config.block_size)
        return min(share.due for share in shares)

    def _grow(self, shares: Sequence[Share], growth: Growth, step: int) -> bool:
        """Blocks for those due in ``step``; False, and nothing changes, if one had to be preempted."""
        block_size = self.config.block_size
        growing = [share for share in shares if share.due == step]
        wanted = [share.blocks_after(step, block_size) - len(share.state.table) for share in growing]
        if sum(wanted) > self.pool.free_blocks:
            return False
        for share, new_blocks in zip(growing, wanted, strict=True):
            self._serve(share.state)
            if new_blocks:
                blocks, evicted = self.pool.allocate(new_blocks)
                share.state.table += blocks
                self._result.evicted += evicted
            growth.fill(share, step)
            share.look_ahead(block_size)
        return True

    def _admit(self, state: RequestState, most_tokens: int, result: StepResult) -> int:
        """As the engine's; a request that did not fit is looked up again only when that may have changed."""
        blocked = self._blocked
        if blocked is not None and blocked.state is state and blocked.changes == self.pool.changes:
            spare_blocks = self.config.watermark_blocks if self.running else 0
            if blocked.blocks_needed + spare_blocks > self.pool.free_blocks:
                return 0
        tokens = super()._admit(state, most_tokens, result)
        if not tokens:
            hits = self.pool.lookup(state.lookup_blocks)
            needed = -(-state.known_tokens // self.config.block_size) - self.pool.blocks_in_use(hits)
            self.pool.watch(state.lookup_blocks)
            self._blocked = _Blocked(state, needed, self.pool.changes)
        return tokens


class _Blocked(NamedTuple):
    """A request that needs ``blocks_needed`` free blocks, as long as the pool counts ``changes``."""

    state: RequestState
    blocks_needed: int
    changes: int


class _Work:
    """What the steps of a glide compute and read: each a little more than the one before."""

    def __init__(self, shares: Sequence[Share]) -> None:
        self.tokens = sum(share.chunk for share in shares)
        self._pairs = sum(share.chunk * share.start + pairs_within(share.chunk) for share in shares)
        self._more_pairs = sum(share.chunk**2 for share in shares)
        self._context_tokens = sum(share.start + share.chunk for share in shares)

    def step_s(self, costs: Coefficients) -> float:
        """Seconds of the next step. Mutates."""
        duration_s = costs.step_s(self.tokens, self._pairs, self._context_tokens)
        self._pairs += self._more_pairs
        self._context_tokens += self.tokens
        return duration_s
