"""The blocks that running requests take and fill while an engine glides: in each step, or later in one go.

Later is for a victim order that hears nothing of it: then nobody can tell when it happened, as long as it
has happened before anybody looks. Requests that decode fill blocks of content nobody else has; of those
that compute a prompt there is one at most, so that no two fill blocks of equal content in another order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from keepwarm.serving.base import RequestState, StepResult
from keepwarm.serving.pool import ServingPool


@dataclass(slots=True)
class Share:
    """What one running request gets in every step: ``chunk`` tokens, from ``start`` computed ones on.

    ``due`` is the step, counted from 1, in which it next needs a block or fills one.
    """

    state: RequestState
    chunk: int
    start: int
    due: int = 0

    @property
    def decodes(self) -> bool:
        """Whether all it computes is the token sampled last."""
        return self.state.known_tokens - self.state.computed_tokens == 1

    def steps_alike(self) -> int:
        """Steps until something happens to it: the last chunk of its tokens, the last token of its answer."""
        state = self.state
        if not self.decodes:
            return (state.known_tokens - state.computed_tokens - 1) // self.chunk
        if state.known_tokens == state.request.prompt_tokens:
            return 0
        return state.final_tokens - state.known_tokens - 1

    def look_ahead(self, block_size: int) -> None:
        """Find out when it is due. Mutates."""
        state = self.state
        out_of_blocks = (len(state.table) * block_size - self.start) // self.chunk + 1
        fills_a_block = -(-((state.cached_blocks + 1) * block_size - self.start) // self.chunk)
        self.due = min(out_of_blocks, fills_a_block)

    def blocks_after(self, step: int, block_size: int) -> int:
        """Blocks that it holds after a step."""
        return -(-(self.start + step * self.chunk) // block_size)

    def takes(self, step: int, block_size: int) -> Iterator[tuple[int, int]]:
        """The steps up to ``step`` in which it takes blocks that it does not hold yet, and how many."""
        held = len(self.state.table)
        if self.chunk < block_size:
            for block in range(held, self.blocks_after(step, block_size)):
                yield (block * block_size - self.start) // self.chunk + 1, 1
            return
        for at in range((held * block_size - self.start) // self.chunk + 1, step + 1):
            blocks = self.blocks_after(at, block_size)
            yield at, blocks - held
            held = blocks

    def move_on(self, steps: int, samples: int) -> None:
        """Steps were done; ``samples`` of them ended with a token more, for one that decodes. Mutates."""
        if self.decodes:
            self.state.known_tokens += samples
        self.state.computed_tokens += steps * self.chunk


class Growth:
    """What the shares of one glide of up to ``most_steps`` take, in the order of the batch.

    ``steps`` is how many have to have happened when somebody looks; for whoever glides to set.
    """

    def __init__(self, pool: ServingPool, shares: Sequence[Share], block_size: int, most_steps: int) -> None:
        self.steps = 0
        self._pool = pool
        self._shares = shares
        self._block_size = block_size
        self._happened = 0
        self.later = pool.grows_unheard and self._nobody_can_tell(most_steps)

    def catch_up(self, result: StepResult) -> None:
        """Take and fill what ``steps`` steps do. Mutates."""
        step, block_size = self.steps, self._block_size
        if not self.later or step == self._happened:
            return
        self._happened = step
        taken = [
            (at, place, blocks)
            for place, share in enumerate(self._shares)
            for at, blocks in share.takes(step, block_size)
        ]
        taken.sort()
        total = sum(blocks for _, _, blocks in taken)
        if total:
            fresh, evicted = self._pool.allocate(total)
            result.evicted += evicted
            begin = 0
            for _, place, blocks in taken:
                self._shares[place].state.table += fresh[begin : begin + blocks]
                begin += blocks
        for share in self._shares:
            self.fill(share, step)

    def fill(self, share: Share, step: int) -> None:
        """Cache the blocks that are full after a step. Mutates."""
        state = share.state
        full_blocks = (share.start + step * share.chunk) // self._block_size
        if full_blocks > state.cached_blocks:
            self._pool.cache_full_blocks(state.table, state.blocks[:full_blocks], state.cached_blocks)
            state.cached_blocks = full_blocks

    def _nobody_can_tell(self, most_steps: int) -> bool:
        if sum(not share.decodes for share in self._shares) > 1:
            return False
        block_size = self._block_size
        wanted = sum(
            share.blocks_after(most_steps, block_size) - len(share.state.table) for share in self._shares
        )
        return wanted <= self._pool.free_blocks
