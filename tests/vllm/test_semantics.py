"""Each semantic of the design notes, by its number: what it says, and that vLLM does just that.

``Lockstep`` compares both sides at every step, so what is asserted here holds for both.
"""

from __future__ import annotations

import pytest

from keepwarm.serving.base import ServerConfig
from tests.vllm.lockstep import Lockstep
from tests.vllm.real import Call

BLOCK = 8


class Server(Lockstep):
    """Both sides with blocks of 8 tokens, and requests that are easy to write down."""

    def __init__(self, capacity_blocks: int = 32, **limits: int | float) -> None:
        tokens = capacity_blocks * BLOCK
        settings = {"max_request_tokens": tokens, "max_running_requests": 8, "step_tokens": 512, **limits}
        super().__init__(ServerConfig(BLOCK, capacity_blocks, **settings))  # type: ignore[arg-type]
        self.serial = 0

    def arrive(self, prompt: list[int], answer: list[int] | None = None, **keys: object) -> str:
        """A request waits; without an ``answer`` it ends with its first token."""
        self.serial += 1
        self.add(Call(f"r{self.serial}", prompt, answer or [7], **keys))  # type: ignore[arg-type]
        return f"r{self.serial}"

    def serve(self, prompt: list[int], answer: list[int] | None = None, **keys: object) -> int:
        """A request from its arrival to its end; returns its hit tokens."""
        before = self.counts["hit tokens"]
        self.arrive(prompt, answer, **keys)
        self.drain()
        return self.counts["hit tokens"] - before

    def running(self) -> list[str]:
        return [state.request.id for state in self.model.running]

    def waiting(self) -> list[str]:
        return [state.request.id for state in self.model.waiting]

    def scheduled(self) -> dict[str, int]:
        """One step; how many tokens each request got."""
        self.step()
        event, tokens = self._recent[-1]
        assert event == "step"
        return dict(tokens)


def blocks(*contents: int) -> list[int]:
    """Tokens of whole blocks, each of one content."""
    return [content for content in contents for _ in range(BLOCK)]


def test_semantic_01_a_hash_covers_all_blocks_before() -> None:
    server = Server()
    assert server.serve([*blocks(1, 2, 3), 9]) == 0
    assert server.serve([*blocks(1, 2, 3), 9]) == 24
    assert server.serve([*blocks(5, 2, 3), 9]) == 0
    assert server.serve([*blocks(1, 2, 4), 9]) == 16


@pytest.mark.parametrize("key", ["salt", "lora"])
def test_semantic_01_salt_and_adapter_isolate(key: str) -> None:
    server = Server()
    prompt = [*blocks(1, 2), 9]
    assert server.serve(prompt) == 0
    assert server.serve(prompt, **{key: "a"}) == 0
    assert server.serve(prompt, **{key: "b"}) == 0
    assert server.serve(prompt, **{key: "a"}) == 16
    assert server.serve(prompt) == 16


@pytest.mark.parametrize(("tokens", "hit"), [(7, 0), (8, 0), (9, 8), (16, 8), (17, 16), (23, 16)])
def test_semantic_02_hit_is_full_blocks_short_of_the_last_token(tokens: int, hit: int) -> None:
    server = Server()
    prompt = blocks(1, 2, 3)[:tokens]
    assert server.serve(prompt) == 0
    assert server.serve(prompt) == hit


def test_semantic_03_lookup_is_at_admission_not_at_arrival() -> None:
    server = Server(max_running_requests=1)
    server.arrive([*blocks(1, 2), 9])
    server.arrive([*blocks(1, 2), 9])  # nothing is cached yet
    server.drain()
    assert server.counts["hit tokens"] == 16


def test_semantic_03_lookup_is_counted_once_after_allocation() -> None:
    server = Server(capacity_blocks=4)
    server.arrive(blocks(1, 2), answer=[7] * 5)
    server.step()
    server.arrive([*blocks(1, 2, 3), 9])  # two hits in use, but two blocks more do not fit yet
    while server.waiting():
        assert server.real.lookups.requests == 1
        server.step()
    assert server.real.lookups.requests == 2
    assert server.real.lookups.hit_tokens == 16
    assert server.real.lookups.query_tokens == 16 + 25


def test_semantic_04_a_twin_in_the_same_step_hits_the_chunk_just_scheduled() -> None:
    server = Server(long_prefill_tokens=20)
    first, twin = server.arrive([*blocks(1, 2, 3), 9]), server.arrive([*blocks(1, 2, 3), 9])
    assert server.scheduled() == {first: 20, twin: 9}  # two of the first's blocks are full by then
    assert server.counts["hit tokens"] == 16


def test_semantic_05_a_hit_is_shared_while_in_use() -> None:
    server = Server()
    server.arrive([*blocks(1, 2), 9], answer=[7] * 9)
    server.arrive([*blocks(1, 2), 9], answer=[7] * 9)
    server.step()
    shared = server.model.running[0].table[:2]
    assert server.model.running[1].table[:2] == shared
    assert [server.real.pool.blocks[block].ref_cnt for block in shared] == [2, 2]


def test_semantic_05_a_hit_on_a_free_block_uses_capacity() -> None:
    server = Server(capacity_blocks=5)
    server.serve([*blocks(1, 2), 9])
    server.arrive([*blocks(5), 9], answer=[7] * 3)  # takes two of five
    server.step()
    server.arrive([*blocks(1, 2, 3), 9])  # needs two more, and its two hits are free blocks
    server.step()
    assert server.waiting() == ["r3"]
    server.drain()
    assert server.counts["hit tokens"] == 16


def test_semantic_06_eviction_waits_until_the_block_is_handed_out() -> None:
    server = Server(capacity_blocks=4)
    server.serve(blocks(1, 2, 3))
    assert server.counts["evictions"] == 0
    server.serve(blocks(4, 5))  # one blank block, then the head of the queue: the tail of the first prompt
    assert server.counts["evictions"] == 1
    assert server.serve([*blocks(1, 2, 3), 9]) == 16


def test_semantic_07_tail_first_and_blocks_without_hash_to_the_front() -> None:
    server = Server(capacity_blocks=5)
    server.serve([*blocks(1, 2), 9])
    assert list(server.real.free_order()) == [3, 4, 5, 2, 1]


def test_semantic_08_duplicates_are_kept_and_lookup_returns_the_first() -> None:
    server = Server(capacity_blocks=6)
    server.serve(blocks(1, 2))
    server.serve(blocks(1, 2), skip_reads=True)
    pool = server.model.pool
    assert [content and content.hash for content in pool.contents[1:3]] == [
        content and content.hash for content in pool.contents[3:5]
    ]
    assert server.real.pool.free_block_queue.num_free_blocks == 6
    server.serve([*blocks(1, 2), 9])  # hits the older pair, which goes to the end of the queue
    assert list(server.real.free_order())[-2:] == [2, 1]
    server.serve(blocks(3, 4, 5, 6))  # the younger pair goes
    assert server.serve([*blocks(1, 2), 9]) == 16


def test_semantic_09_the_null_block_is_never_handed_out() -> None:
    server = Server(capacity_blocks=4, max_request_tokens=40)
    assert server.real.scheduler.cache_config.num_gpu_blocks == 5
    assert server.real.pool.null_block.block_id == 0
    server.arrive(blocks(1, 2, 3, 4)[:-1], answer=[7] * 2)
    server.step()
    assert server.real.scheduler.get_kv_cache_usage() == 1.0
    server.drain()
    assert list(server.real.free_order()) == [4, 3, 2, 1]


@pytest.mark.parametrize(("answer_tokens", "hit"), [(8, 8), (9, 16)])
def test_semantic_10_decoded_blocks_are_cached_without_the_last_token(answer_tokens: int, hit: int) -> None:
    server = Server()
    prompt, answer = blocks(1), [7] * answer_tokens
    server.serve(prompt, answer)
    assert server.serve([*prompt, *answer, *blocks(3)]) == hit


def test_semantic_11_preempted_blocks_stay_cached_and_resumed_lookups_do_not_count() -> None:
    server = Server(capacity_blocks=4)
    first, last = server.arrive(blocks(1, 2), answer=[7] * 8), server.arrive(blocks(3), answer=[7] * 9)
    server.step()
    server.step()  # the first gets the last free block
    assert (server.running(), server.waiting()) == ([first], [last])
    hits = server.counts["hit tokens"]
    server.drain()
    assert server.counts["hit tokens"] == hits + 8  # its prompt's block survived
    lookups = server.real.lookups
    assert (lookups.requests, lookups.query_tokens, lookups.hit_tokens) == (2, 24, 0)
    assert (lookups.resumed_requests, lookups.resumed_hit_tokens) == (1, 8)


def test_semantic_12_the_whole_prompt_must_fit_though_it_comes_in_chunks() -> None:
    server = Server(capacity_blocks=6, step_tokens=16)
    first = server.arrive([*blocks(1, 2), 9], answer=[7] * 3)
    assert server.scheduled() == {first: 16}
    second = server.arrive(blocks(4, 5, 6, 7))
    assert server.scheduled() == {first: 1}  # three blocks are free, room for the first chunk only
    assert server.waiting() == [second]
    server.step()
    server.step()
    assert server.scheduled() == {second: 16}
    assert server.scheduled() == {second: 16}
    assert not len(server.model)


@pytest.mark.parametrize("block_size", [8, 16, 32, 64])
def test_semantic_13_the_block_size_is_what_the_server_says(block_size: int) -> None:
    both = Lockstep(ServerConfig(block_size, 20, 20 * block_size))
    told = both.real.scheduler.cache_config.metrics_info()  # the labels of vllm:cache_config_info
    assert told["block_size"] == str(block_size)
    for name in ("first", "second"):
        both.add(Call(name, [1] * 130, [7]))
        both.drain()
    assert both.counts["hit tokens"] == 129 // block_size * block_size


def test_semantic_14_a_reset_can_be_refused() -> None:
    server = Server()
    server.arrive([*blocks(1, 2), 9], answer=[7] * 3)
    server.step()
    assert server.reset_cache() is False
    server.drain()
    assert server.reset_cache() is True
    assert server.serve([*blocks(1, 2), 9]) == 0


def test_semantic_14_a_reset_that_preempts_is_not_refused() -> None:
    server = Server()
    server.arrive([*blocks(1, 2), 9], answer=[7] * 3)
    server.arrive([*blocks(1, 2), 9], answer=[7] * 3)
    server.step()
    assert server.reset_cache(preempt_running=True) is True
    assert server.waiting() == ["r1", "r2"]
    server.drain()
    assert server.counts["preemptions"] == 2
    assert server.real.lookups.resumed_requests == 2
