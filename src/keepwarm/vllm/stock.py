"""What the plugin uses of vLLM's objects, as types; vLLM itself is never imported here.

Source: ``vllm/v1/core/kv_cache_utils.py`` (blocks, free queue) and ``vllm/v1/core/block_pool.py`` of 0.32.0.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from keepwarm.policies.base import BlockId


class Block(Protocol):
    """``KVCacheBlock``: a block's memory, its references and its place in the free list."""

    block_id: BlockId
    ref_cnt: int
    is_null: bool
    prev_free_block: Any
    next_free_block: Any

    # What the properties block_hash and block_hash_num_tokens return; calling them costs too much.
    _block_hash: Hashable | None  # content and cache group
    _block_hash_num_tokens: int | None  # tokens of the prefix that ends with the block


class FreeQueue(Protocol):
    """``FreeKVCacheBlockQueue``: a doubly linked list between two ends that are no blocks."""

    num_free_blocks: int
    fake_free_list_head: Block
    fake_free_list_tail: Block


class HashMap(Protocol):
    """``BlockHashToBlockMap``."""

    def get_one_block(self, key: Any) -> Block | None:
        """Any block that holds the content."""


class Pool(Protocol):
    """``BlockPool``."""

    num_gpu_blocks: int
    enable_caching: bool
    medium: str
    hash_block_size: int
    blocks: Sequence[Block]
    free_block_queue: FreeQueue
    cached_block_hash_to_block: HashMap
    _reuse_watchers: Mapping[int, Any]


def free_blocks(queue: FreeQueue) -> Iterator[Block]:
    """The blocks of the list, the next to be taken first. Does not mutate; valid until the list changes."""
    block, tail = queue.fake_free_list_head.next_free_block, queue.fake_free_list_tail
    while block is not tail:
        yield block
        block = block.next_free_block


def insert(queue: FreeQueue, blocks: Sequence[Block], before: Block) -> None:
    """Put blocks that are not in the list before one that is, else ``LookupError``. O(len(blocks))."""
    last = before.prev_free_block
    if last is None:
        raise LookupError(f"block {before.block_id} is not in the free list")
    for block in blocks:
        block.prev_free_block = last
        last.next_free_block = block
        last = block
    last.next_free_block = before
    before.prev_free_block = last
    queue.num_free_blocks += len(blocks)


def move(block: Block, before: Block) -> None:
    """Move a block of the list before another of it. O(1); ``LookupError`` if one is not in the list."""
    if block is before or block.next_free_block is before:
        return
    last, behind, ahead = before.prev_free_block, block.prev_free_block, block.next_free_block
    if last is None or behind is None or ahead is None:
        raise LookupError(f"block {block.block_id} or {before.block_id} is not in the free list")
    behind.next_free_block = ahead
    ahead.prev_free_block = behind
    last.next_free_block = block
    block.prev_free_block = last
    block.next_free_block = before
    before.prev_free_block = block
