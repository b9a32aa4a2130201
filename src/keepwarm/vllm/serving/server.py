"""A vLLM scheduler as queue orders see it, and what computing a prompt token costs it lately."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from typing import Any

FIRST_GUESS_S = 1e-4  # of one prompt token, before any was measured
LEAST_S, MOST_S = 1e-7, 1.0
KEPT = 0.95  # of what was measured before, at each step that computes prompt tokens
STEPS_IN_FLIGHT = 64  # more than any pipeline has
_GROUP_0 = (0).to_bytes(4, "big")  # what vLLM appends to a hash in the map: the number of the cache group


class ServerView:
    """``scheduling.base.Server`` over vLLM's own objects; ``probes`` counts the blocks looked up."""

    def __init__(self, scheduler: Any) -> None:
        self._pool = scheduler.kv_cache_manager.block_pool
        self.capacity_blocks: int = self._pool.num_gpu_blocks - 1
        self.block_size: int = scheduler.block_size
        self.step_tokens: int = scheduler.max_num_scheduled_tokens
        self.prefill_s_per_token = FIRST_GUESS_S
        self.probes = 0

    def is_cached(self, block_hash: Hashable) -> bool:
        """Whether a look-up would find the block; nothing is counted as a hit. O(1)."""
        self.probes += 1
        key = block_hash + _GROUP_0  # type: ignore[operator]
        return self._pool.cached_block_hash_to_block.get_one_block(key) is not None


class PrefillRate:
    """Seconds per prompt token from step to step: the time steps took over the prompt tokens they computed.

    Both are sums in which older steps count ever less. A step's time begins when it was scheduled or the one
    before it ended, whichever is later, so idle times and steps in flight at once are counted right.
    """

    def __init__(self, view: ServerView) -> None:
        self._view = view
        self._starts_s: deque[float] = deque(maxlen=STEPS_IN_FLIGHT)
        self._last_end_s = 0.0
        self._seconds = self._tokens = 0.0

    def began(self, now_s: float) -> None:
        """A step with tokens was scheduled. O(1)."""
        self._starts_s.append(now_s)

    def ended(self, prompt_tokens: int, now_s: float) -> None:
        """The oldest step that began is done. Mutates the view. O(1)."""
        if not self._starts_s:
            return
        took_s = now_s - max(self._starts_s.popleft(), self._last_end_s)
        self._last_end_s = now_s
        if prompt_tokens > 0 and took_s > 0:
            self._seconds = KEPT * self._seconds + took_s
            self._tokens = KEPT * self._tokens + prompt_tokens
            self._view.prefill_s_per_token = min(max(self._seconds / self._tokens, LEAST_S), MOST_S)
