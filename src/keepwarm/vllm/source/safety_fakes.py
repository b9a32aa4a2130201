"""Blocks, free queue and pool for the safety suite: what vLLM 0.32.0's do, in fewer words and without vLLM.

Source: ``BlockPool`` and ``FreeKVCacheBlockQueue`` in ``vllm/v1/core``. No metrics, events, or cache groups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

POOL_BLOCKS, BLOCK_TOKENS = 65, 16

Content = tuple[int, int]  # a prompt, and the depth of a block in it


class Request(NamedTuple):
    """What a block pool reads of a request."""

    contents: Sequence[Content]
    num_prompt_tokens: int


class Block:
    """A block's memory, its content, its users, and its place in the free list."""

    def __init__(self, block_id: int) -> None:
        self.block_id = block_id
        self.ref_cnt = 0
        self.is_null = False
        self._block_hash: Content | None = None
        self._block_hash_num_tokens: int | None = None
        self.prev_free_block: Any = None
        self.next_free_block: Any = None


class Queue:
    """A doubly linked list of free blocks between two ends that are none."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self.num_free_blocks = 0
        self.fake_free_list_head, self.fake_free_list_tail = Block(-1), Block(-1)
        self.fake_free_list_head.next_free_block = self.fake_free_list_tail
        self.fake_free_list_tail.prev_free_block = self.fake_free_list_head
        self.append_n(blocks)

    def __iter__(self) -> Iterator[Block]:
        block = self.fake_free_list_head.next_free_block
        while block is not self.fake_free_list_tail:
            yield block
            block = block.next_free_block

    def popleft(self) -> Block:
        return Queue.popleft_n(self, 1)[0]

    def popleft_n(self, n: int) -> list[Block]:
        taken = [block for block, _ in zip(self, range(n), strict=False)]
        for block in taken:
            Queue.remove(self, block)
        return taken

    def remove(self, block: Block) -> None:
        block.prev_free_block.next_free_block = block.next_free_block
        block.next_free_block.prev_free_block = block.prev_free_block
        block.prev_free_block = block.next_free_block = None
        self.num_free_blocks -= 1

    def append(self, block: Block) -> None:
        Queue.append_n(self, [block])

    def append_n(self, blocks: Sequence[Block]) -> None:
        self._link(blocks, self.fake_free_list_tail.prev_free_block)

    def prepend_n(self, blocks: Sequence[Block]) -> None:
        self._link(blocks, self.fake_free_list_head)

    def _link(self, blocks: Sequence[Block], last: Block) -> None:
        end = last.next_free_block
        for block in blocks:
            last.next_free_block, block.prev_free_block = block, last
            last = block
        last.next_free_block, end.prev_free_block = end, last
        self.num_free_blocks += len(blocks)


class ContentMap(dict[Content, list[Block]]):
    """Blocks by content; the first of several is found."""

    def get_one_block(self, key: Content) -> Block | None:
        return next(iter(self.get(key, ())), None)


class Pool:
    """Hands out blocks, finds cached ones, takes them back."""

    def __init__(
        self, num_gpu_blocks: int = POOL_BLOCKS, enable_caching: bool = True, medium: str = "GPU"
    ) -> None:
        self.num_gpu_blocks = num_gpu_blocks
        self.enable_caching = enable_caching
        self.medium = medium
        self.hash_block_size = BLOCK_TOKENS
        self.blocks = [Block(block_id) for block_id in range(num_gpu_blocks)]
        self.free_block_queue = Queue(self.blocks)
        self.cached_block_hash_to_block = ContentMap()
        self._reuse_watchers: dict[int, Callable[[Block], None]] = {}
        self.null_block = self.free_block_queue.popleft()
        self.null_block.is_null = True

    def get_new_blocks(self, num_blocks: int) -> list[Block]:
        blocks = self.free_block_queue.popleft_n(num_blocks)
        self._notify_reuse(blocks)
        for block in blocks:
            self._maybe_evict_cached_block(block)
            assert block.ref_cnt == 0
            block.ref_cnt += 1
        return blocks

    def _notify_reuse(self, blocks: Iterable[Block]) -> None:
        for block in blocks:
            watcher = self._reuse_watchers.pop(block.block_id, None)
            if watcher is not None:
                watcher(block)

    def touch(self, blocks: Sequence[Block]) -> None:
        for block in blocks:
            if block.ref_cnt == 0 and not block.is_null:
                self.free_block_queue.remove(block)
            block.ref_cnt += 1

    def unpin_blocks(self, blocks: Iterable[Block], on_reuse: Callable[[Block], None]) -> None:
        released = []
        for block in blocks:
            block.ref_cnt -= 1
            self._reuse_watchers[block.block_id] = on_reuse
            if block.ref_cnt == 0:
                released.append(block)
        self.free_block_queue.append_n(released)

    def free_blocks(self, ordered_blocks: Iterable[Block]) -> None:
        blank: list[Block] = []
        cached: list[Block] = []
        for block in ordered_blocks:
            block.ref_cnt -= 1
            if block.ref_cnt == 0 and not block.is_null:
                (blank if block._block_hash is None else cached).append(block)
        self.free_block_queue.prepend_n(blank)
        self.free_block_queue.append_n(cached)

    def cache_full_blocks(
        self,
        request: Request,
        blocks: Sequence[Block],
        num_cached_blocks: int,
        num_full_blocks: int,
        block_size: int,
        kv_cache_group_id: int,
        block_mask: None = None,
    ) -> None:
        assert (kv_cache_group_id, block_mask) == (0, None)
        for depth in range(num_cached_blocks, num_full_blocks):
            block, content = blocks[depth], request.contents[depth]
            block._block_hash, block._block_hash_num_tokens = content, (depth + 1) * block_size
            self.cached_block_hash_to_block.setdefault(content, []).append(block)

    def _maybe_evict_cached_block(self, block: Block) -> bool:
        if block._block_hash is None:
            return False
        holders = self.cached_block_hash_to_block[block._block_hash]
        holders.remove(block)
        if not holders:
            del self.cached_block_hash_to_block[block._block_hash]
        block._block_hash = block._block_hash_num_tokens = None
        return True

    def reset_prefix_cache(self) -> bool:
        if self.free_block_queue.num_free_blocks != self.num_gpu_blocks - 1:
            return False
        self.cached_block_hash_to_block = ContentMap()
        self._notify_reuse([self.blocks[block_id] for block_id in list(self._reuse_watchers)])
        for block in self.blocks:
            block._block_hash = block._block_hash_num_tokens = None
        return True
