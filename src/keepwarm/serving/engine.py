"""The step loop of one server, as vLLM 0.32.0 runs it for one group of full attention.

A step first gives running requests their next tokens, in the order of their admission, then admits
waiting ones while the token budget lasts. Prompts longer than what is left of the budget are computed in
chunks. A running request that finds no free block makes the server preempt the one admitted last; that
one's blocks stay cached until they are reused, and it waits at the front to be computed again. After the
step every request whose known tokens are all computed gets one token more.

Authority: ``vllm/v1/core/sched/scheduler.py`` (``schedule``, ``update_from_output``) and
``kv_cache_manager.py`` (``allocate_slots``). Left out: LoRA limits, priorities, connectors, speculation.
"""

from __future__ import annotations

from collections.abc import Hashable
from itertools import count, islice

from keepwarm._errors import InputError
from keepwarm.cache.pool import BlockPool
from keepwarm.policies.base import BlockHash
from keepwarm.policies.sessions import SessionVictimOrder
from keepwarm.reuse.estimators.unknown import Unknown
from keepwarm.scheduling.base import QueueOrder
from keepwarm.scheduling.fcfs import Fcfs
from keepwarm.scheduling.sessions import SessionTable
from keepwarm.serving.base import (
    LookupCounts,
    RequestId,
    RequestState,
    ServerConfig,
    ServerRequest,
    StepResult,
)


class Engine:
    """One server: ``pool`` is its cache, empty and its own; ``order`` is the class of its queue order.

    The engine keeps ``sessions`` up to date. ``prefill_s_per_token`` is for whoever models time to set.
    Raises InputError for limits that no server could have, or a pool of another size.
    """

    def __init__(
        self,
        config: ServerConfig,
        pool: BlockPool,
        order: type[QueueOrder[RequestState]] = Fcfs,
        sessions: SessionTable | None = None,
    ) -> None:
        config.check()
        if pool.capacity_blocks != config.capacity_blocks:
            raise InputError(f"a pool of {pool.capacity_blocks!r} blocks for {config.capacity_blocks!r}")
        self.config = config
        self.pool = pool
        self.sessions = SessionTable(Unknown()) if sessions is None else sessions
        self.prefill_s_per_token = 1e-4
        self.waiting = order(self, self.sessions)
        self._by_session = pool.policy if isinstance(pool.policy, SessionVictimOrder) else None
        self.running: list[RequestState] = []  # in the order of their admission
        self.lookups = LookupCounts()
        self._states: dict[RequestId, RequestState] = {}
        self._unknown = count(-1, -1)  # hashes that nothing else has: real ones are not negative
        self._preempted_by_reset: list[RequestId] = []

    def __len__(self) -> int:
        return len(self._states)

    @property
    def capacity_blocks(self) -> int:
        """Usable blocks."""
        return self.config.capacity_blocks

    @property
    def block_size(self) -> int:
        """Tokens of a block."""
        return self.config.block_size

    @property
    def step_tokens(self) -> int:
        """Token budget of one step."""
        return self.config.step_tokens

    def is_cached(self, block_hash: Hashable) -> bool:
        """Whether a look-up would find the block."""
        return self.pool.is_cached(block_hash)

    def add(self, request: ServerRequest, now_s: float = 0.0) -> RequestState:
        """A request arrives and waits; its state, which is kept up to date until it ends. Mutates.

        Raises InputError if its id is taken, or if a server of these limits refused it or never finished it.
        """
        limit_tokens = self.config.max_request_tokens
        if request.id in self._states:
            raise InputError(f"request {request.id!r} is there already; give each its own id")
        if request.prompt_tokens < 1 or request.output_tokens < 1:
            raise InputError(f"request {request.id!r} has an empty prompt or answer: {request!r}")
        if request.prompt_tokens >= limit_tokens:
            raise InputError(
                f"request {request.id!r}: a prompt of {request.prompt_tokens} tokens leaves no room for an "
                f"answer in {limit_tokens}; raise max_request_tokens"
            )
        final_tokens = min(request.prompt_tokens + request.output_tokens, limit_tokens)
        if _blocks(final_tokens - 1, self.config.block_size) > self.config.capacity_blocks:
            raise InputError(
                f"request {request.id!r} needs {_blocks(final_tokens - 1, self.config.block_size)} blocks of "
                f"{self.config.capacity_blocks}; raise capacity_blocks"
            )
        blocks = self._hashes(request, final_tokens)
        state = RequestState(
            session=request.session,
            arrival_s=now_s,
            lookup_blocks=(),
            need_blocks=_blocks(request.prompt_tokens, self.config.block_size),
            request=request,
            blocks=blocks,
            known_tokens=request.prompt_tokens,
            final_tokens=final_tokens,
        )
        state.lookup_blocks = self._asked(state)
        self._states[request.id] = state
        self.sessions.arrived(request.session, state.need_blocks, now_s)
        self.waiting.add(state)
        return state

    def abort(self, request_id: RequestId) -> bool:
        """Give up a request wherever it is; False if it is not there (any more). Mutates."""
        state = self._states.pop(request_id, None)
        if state is None:
            return False
        if state.table:
            self.running.remove(state)
            self._free(state)
            self._end(state)
            self.waiting.released(state)
        else:
            self._end(state)
            self.waiting.remove(state)
        return True

    def reset_cache(self, *, preempt_running: bool = False) -> bool:
        """Forget all cached blocks; False, and nothing changes, while a request uses blocks. Mutates.

        With ``preempt_running`` those requests are preempted first, the last admitted first.
        """
        while preempt_running and self.running:
            self._preempt_last(self._preempted_by_reset)
        return self.pool.reset()

    def step(self, now_s: float = 0.0) -> StepResult:
        """Compute the tokens of one batch. Mutates. Nothing is scheduled only if no request is there."""
        self._begin_step(now_s)
        result = StepResult(preempted=self._preempted_by_reset)
        self._preempted_by_reset = []
        preempted_before = len(result.preempted)
        chunk_tokens = self._chunk_tokens()
        budget_tokens = self._continue_running(result, chunk_tokens)
        if len(result.preempted) == preempted_before:
            self._admit_waiting(result, budget_tokens, chunk_tokens)
        self._sample(result)
        return result

    def _begin_step(self, now_s: float) -> None:
        """Tell all who plan by steps."""
        self.sessions.now_s = now_s
        if self._by_session is not None:
            self._by_session.begin_step()
        self.waiting.begin_step(now_s)

    def _chunk_tokens(self) -> int:
        """Most tokens that one request may compute in this step."""
        caps = (self.waiting.prefill_cap_tokens, self.config.long_prefill_tokens)
        long_prefill_tokens = min(filter(None, caps), default=0)
        if not long_prefill_tokens or len(self) <= 1:  # nobody else to starve
            return self.config.step_tokens
        return long_prefill_tokens

    def _continue_running(self, result: StepResult, chunk_tokens: int) -> int:
        """Schedule what runs already; returns what is left of the token budget."""
        budget_tokens = self.config.step_tokens
        index = 0
        while index < len(self.running) and budget_tokens > 0:
            state = self.running[index]
            tokens = min(state.known_tokens - state.computed_tokens, chunk_tokens, budget_tokens)
            if not self._extend(state, state.computed_tokens + tokens, result):
                break
            self._compute(state, tokens, result)
            budget_tokens -= tokens
            index += 1
        return budget_tokens

    def _extend(self, state: RequestState, tokens: int, result: StepResult) -> bool:
        """Give a running request blocks for ``tokens``; False if that made it preempt itself."""
        new_blocks = _blocks(tokens, self.config.block_size) - len(state.table)
        if new_blocks <= 0:
            return True
        while not self.pool.fits((), new_blocks):
            if self._preempt_last(result.preempted) is state:
                return False
        self._serve(state)
        blocks, evicted = self.pool.allocate(new_blocks)
        state.table += blocks
        result.evicted += evicted
        return True

    def _preempt_last(self, preempted: list[RequestId]) -> RequestState:
        """Take the request admitted last off the batch; its blocks are free, but still cached."""
        state = self.running.pop()
        self._free(state)
        state.table = []
        state.computed_tokens = state.cached_blocks = 0
        state.preemptions += 1
        state.preempted = True
        state.need_blocks = _blocks(state.known_tokens, self.config.block_size)
        state.lookup_blocks = self._asked(state)
        self.waiting.put_back(state)
        preempted.append(state.request.id)
        return state

    def _admit_waiting(self, result: StepResult, budget_tokens: int, chunk_tokens: int) -> None:
        most_running = self.config.max_running_requests
        while budget_tokens > 0 and len(self.waiting) and len(self.running) < most_running:
            state = self.waiting.first()
            tokens = self._admit(state, min(chunk_tokens, budget_tokens), result) if state else 0
            if not tokens:
                break
            budget_tokens -= tokens

    def _admit(self, state: RequestState, most_tokens: int, result: StepResult) -> int:
        """Admit a request if all its known tokens fit; returns the tokens scheduled, 0 if it has to wait.

        The policy's ``on_admit`` comes at the first admission only: a preempted request that resumes was
        asked for once. Its hits, allocations and evictions are told each time.
        """
        block_size = self.config.block_size
        asked = state.lookup_blocks
        hits = self.pool.lookup(asked)
        spare_blocks = self.config.watermark_blocks if self.running else 0
        if not self.pool.fits(hits, _blocks(state.known_tokens, block_size) - len(hits) + spare_blocks):
            return 0
        hit_tokens = len(hits) * block_size
        tokens = min(state.known_tokens - hit_tokens, most_tokens)
        new_blocks = _blocks(hit_tokens + tokens, block_size) - len(hits)
        self._serve(state)
        state.table, evicted = self.pool.admit(asked, hits, new_blocks, resumed=state.preemptions > 0)
        result.evicted += evicted
        if not state.request.skip_reads:
            self.lookups.count(state, hit_tokens)
        self._start(state, len(hits), tokens, result)
        return tokens

    def _start(self, state: RequestState, found_blocks: int, tokens: int, result: StepResult) -> None:
        """An admitted request joins the batch: the KV of its first ``found_blocks`` is there."""
        state.prefills = True
        self.waiting.admitted(state)
        self.running.append(state)
        state.computed_tokens, state.cached_blocks = found_blocks * self.config.block_size, found_blocks
        result.hit_tokens[state.request.id] = state.computed_tokens
        self._compute(state, tokens, result)

    def _compute(self, state: RequestState, tokens: int, result: StepResult) -> None:
        """Put ``tokens`` into the batch; the blocks they fill can be hit from now on, even in this step."""
        result.scheduled[state.request.id] = tokens
        state.computed_tokens += tokens
        full_blocks = state.computed_tokens // self.config.block_size
        if full_blocks > state.cached_blocks:
            self._serve(state)
            self.pool.cache_full_blocks(state.table, state.blocks[:full_blocks], start=state.cached_blocks)
            state.cached_blocks = full_blocks

    def _sample(self, result: StepResult) -> None:
        """One token more for each request of the batch with nothing left to compute; the last one ends it."""
        for request_id in result.scheduled:
            state = self._states[request_id]
            if state.computed_tokens < state.known_tokens:
                continue
            if state.prefills:
                state.prefills = False
                self.waiting.prefilled(state)
            state.known_tokens += 1
            if state.known_tokens >= state.final_tokens:
                self._free(state)
                self.running.remove(state)
                del self._states[request_id]
                self._end(state)
                self.waiting.released(state)
                result.finished.append(request_id)

    def _serve(self, state: RequestState) -> None:
        if self._by_session is not None:
            self._by_session.serve(state.session)

    def _free(self, state: RequestState) -> None:
        self._serve(state)
        self.pool.free(state.table)

    def _end(self, state: RequestState) -> None:
        """Nothing of it waits or runs any more."""
        context_blocks = _blocks(state.known_tokens - 1, self.config.block_size)
        self.sessions.ended(state.session, context_blocks, self.sessions.now_s)

    def _asked(self, state: RequestState) -> list[BlockHash]:
        """The hashes that a request could hit now: its last token is computed in any case."""
        if state.request.skip_reads:
            return []
        return list(state.blocks[: (state.known_tokens - 1) // self.config.block_size])

    def _hashes(self, request: ServerRequest, final_tokens: int) -> list[BlockHash]:
        """The known ones, and new ones for answer blocks of unknown content."""
        full_blocks = (final_tokens - 1) // self.config.block_size
        hashes = list(request.blocks[:full_blocks])
        hashes.extend(map(BlockHash, islice(self._unknown, full_blocks - len(hashes))))
        return hashes


def _blocks(tokens: int, block_size: int) -> int:
    return -(-tokens // block_size)
