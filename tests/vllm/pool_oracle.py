"""What the free list of one pool shall be, from the text of the rules alone, without a policy's code.

    [ blank | probation | protected | watched ]
      victims are taken from this end

Everything is looked at from outside: blocks are numbers, and each decision is made anew, one victim or one
demotion at a time, as docs/design/computecache.md and the heads of the two policies say it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from itertools import islice

from keepwarm.vllm.settings import Settings

EXTRA_DEMOTIONS = 64
MOST_HITS, MOST_DEPTH_BLOCKS, MOST_AGE_TICKS = 255, 4096, 4096

Part = OrderedDict[int, None]


class Oracle:
    """The four parts of the free list, and what is known of each cached block."""

    def __init__(self, capacity_blocks: int, settings: Settings) -> None:
        self.settings = settings
        self.capacity_blocks = capacity_blocks
        self.blank: Part = OrderedDict.fromkeys(range(1, capacity_blocks + 1))
        self.probation: Part = OrderedDict()
        self.protected: Part = OrderedDict()
        self.watched: Part = OrderedDict()
        self.watchers: set[int] = set()
        self.demotions = 0
        self._forget_all()

    def order(self) -> list[int]:
        """The free list, the next victim first. O(free)."""
        return [*self.blank, *self.probation, *self.protected, *self.watched]

    def free_blocks(self) -> int:
        """How many are free. O(1)."""
        return len(self.blank) + len(self.probation) + len(self.protected) + len(self.watched)

    def allocate(self, count: int) -> list[int]:
        """The blocks an allocation of ``count`` gets, those that somebody watches last."""
        if count:
            self._decide(count)
        taken = []
        for _ in range(count):
            part = self.blank or self.probation or self.protected or self.watched
            block = part.popitem(last=False)[0]
            self._forget(block)
            taken.append(block)
        return taken

    def hit(self, block: int, *, was_free: bool) -> None:
        """A request uses a cached block."""
        if was_free:
            self._remove(block)
        self.clock += 1
        self.used_at[block] = self.clock
        self.hits[block] = self.hits.get(block, 0) + 1
        self.allocated_at_hit[block] = self.allocated_blocks

    def cache(self, block: int, depth_blocks: int) -> None:
        """A block got a hash; ``depth_blocks`` is the length of the prefix that its first hash names."""
        self.depth_blocks[block] = depth_blocks
        self.used_at[block] = self.clock

    def move(self, source: int, target: int) -> None:
        """The content of ``source`` is cached in ``target`` now; if it was hit, that is one hit there."""
        was_hit, depth_blocks = source in self.hits, self.depth_blocks[source]
        self._forget(source)
        self.cache(target, depth_blocks)
        if was_hit:
            self.hit(target, was_free=False)

    def free(self, blocks: Iterable[int], hashed: Iterable[bool]) -> None:
        """Blocks nobody uses any more, in the order in which vLLM is given them."""
        blank: list[int] = []
        watched: list[int] = []  # with a hash: vLLM hands those without one to its queue first
        for block, is_cached in zip(blocks, hashed, strict=True):
            if block in self.watchers:
                if is_cached:
                    watched.append(block)
                else:
                    self.watched[block] = None
            elif not is_cached:
                blank.append(block)
            elif self.settings.rule == "boundary" and block in self.hits:
                self.protected[block] = None
            else:
                self.probation[block] = None
        self.watched.update((block, None) for block in watched)
        self._to_head(blank)

    def unpin(self, blocks: Sequence[int], released: Sequence[int]) -> None:
        """``blocks`` are watched from now on, and those ``released`` nobody uses."""
        self.watchers.update(blocks)
        self.watched.update((block, None) for block in released)

    def evict(self, block: int) -> None:
        """The content is lost while the block stays where it is: free and cached, it is blank now."""
        for part in (self.probation, self.protected):
            if block in part:
                del part[block]
                self._to_head([block])
        self._forget(block)

    def reset(self) -> None:
        """All contents are lost, nobody watches, and the list stands as it stood."""
        self.blank = OrderedDict.fromkeys(self.order())
        for part in (self.probation, self.protected, self.watched):
            part.clear()
        self.watchers.clear()
        self._forget_all()

    def keep_value(self, block: int) -> int:
        """Hits, depth and age, weighed."""
        weights, hits = self.settings.weights, min(self.hits.get(block, 0), MOST_HITS)
        value = hits * weights.reuse + min(self.depth_blocks[block], MOST_DEPTH_BLOCKS) * weights.depth
        value -= min(self.clock - self.used_at[block], MOST_AGE_TICKS) * weights.age
        return value if hits else value - weights.quick_demote_penalty

    def _decide(self, count: int) -> None:
        if self.settings.rule == "window":
            self._rank_window(count - len(self.blank))
            return
        self.allocated_blocks += count
        left = count + EXTRA_DEMOTIONS
        settings = self.settings
        stale_blocks = max(settings.stale_turnovers * self.capacity_blocks, settings.least_stale_blocks)
        while left and self.protected:
            first = next(iter(self.protected))
            if self.allocated_blocks - self.allocated_at_hit[first] < stale_blocks:
                break
            self._demote(first)
            left -= 1
        while left and len(self.protected) > int(settings.protected_share * self.capacity_blocks):
            self._demote(min(islice(self.protected, settings.scan_limit), key=self.keep_value))
            left -= 1

    def _demote(self, block: int) -> None:
        del self.protected[block]
        self.probation[block] = None
        self.demotions += 1

    def _rank_window(self, victims: int) -> None:
        places = self.settings.scan_limit - len(self.blank)
        if victims > 0 and places > 0:
            ranked = sorted(islice(self.probation, places), key=self.keep_value)
            for block in reversed(ranked[:victims]):
                self.probation.move_to_end(block, last=False)

    def _to_head(self, blocks: Sequence[int]) -> None:
        for block in reversed(blocks):
            self.blank[block] = None
            self.blank.move_to_end(block, last=False)

    def _remove(self, block: int) -> None:
        for part in (self.blank, self.probation, self.protected, self.watched):
            if block in part:
                del part[block]
                return
        raise AssertionError(f"block {block} was hit as a free one, but is not free")

    def _forget(self, block: int) -> None:
        for known in (self.hits, self.used_at, self.depth_blocks, self.allocated_at_hit):
            known.pop(block, None)

    def _forget_all(self) -> None:
        self.clock = self.allocated_blocks = 0
        self.hits: dict[int, int] = {}
        self.used_at: dict[int, int] = {}
        self.depth_blocks: dict[int, int] = {}
        self.allocated_at_hit: dict[int, int] = {}
