"""vLLM's own ``KVCacheManager`` over a hash-only trace, beside the kernel; runs where vLLM is installed.

``python -m bench.vllm_manager TRACE CAPACITY_BLOCKS RUNS`` prints one JSON document, for ``kernel_vs_vllm``.
"""

from __future__ import annotations

import gc
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from bench.traces import dense
from keepwarm.cache.dense import DenseTrace
from keepwarm.cache.kernels import run_kernel


class ManagerRun(NamedTuple):
    """Seconds within the manager's methods, and what its cache did."""

    seconds: float
    hit_tokens: int
    evicted_blocks: int


def run_manager(trace: DenseTrace, capacity_blocks: int, *, token_by_token: bool) -> ManagerRun:
    """Each request looked up, admitted with its whole prompt, decoded and freed before the next.

    ``token_by_token`` asks for the answer's slots as the engine does, one call a step; else all in
    one call. Requests, token lists and hashes are made outside the clock.
    """
    manager = _manager(trace.block_size, capacity_blocks)
    seconds, hit_tokens, cached_blocks = 0.0, 0, 0
    for index in range(trace.requests):
        prompt_tokens = int(trace.prompt_tokens[index])
        if -(-prompt_tokens // trace.block_size) > capacity_blocks:
            continue
        computed_tokens = prompt_tokens + max(0, int(trace.output_tokens[index]) - 1)
        computed_tokens = min(computed_tokens, capacity_blocks * trace.block_size)
        request = _request(trace, index, prompt_tokens, computed_tokens)
        started_s = time.process_time()
        blocks, hits, _ = manager.get_computed_blocks(request)
        manager.allocate_slots(request, prompt_tokens - hits, hits, blocks, full_sequence_must_fit=True)
        request.num_computed_tokens = prompt_tokens
        _decode(manager, request, computed_tokens - prompt_tokens, token_by_token=token_by_token)
        manager.free(request)
        seconds += time.process_time() - started_s
        hit_tokens += hits
        cached_blocks += (computed_tokens - hits) // trace.block_size
    resident = sum(block.block_hash is not None for block in manager.block_pool.blocks)
    return ManagerRun(seconds, hit_tokens, cached_blocks - resident)


def _decode(manager: Any, request: Any, tokens: int, *, token_by_token: bool) -> None:
    if not token_by_token:
        if tokens:
            manager.allocate_slots(request, tokens)
        return
    for _ in range(tokens):
        manager.allocate_slots(request, 1)
        request.num_computed_tokens += 1


def _manager(block_size: int, capacity_blocks: int) -> Any:
    import torch
    from vllm.v1.core.kv_cache_manager import KVCacheManager
    from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec

    spec = FullAttentionSpec(block_size=block_size, num_kv_heads=1, head_size=1, dtype=torch.float32)
    return KVCacheManager(
        KVCacheConfig(capacity_blocks + 1, [], [KVCacheGroupSpec(["layer"], spec)]),  # one is the null block
        max_model_len=capacity_blocks * block_size,
        scheduler_block_size=block_size,
        hash_block_size=block_size,
    )


def _request(trace: DenseTrace, index: int, prompt_tokens: int, computed_tokens: int) -> Any:
    from vllm.sampling_params import SamplingParams
    from vllm.v1.request import Request

    request = Request(str(index), [0] * prompt_tokens, SamplingParams(max_tokens=1), None)
    request._all_token_ids.extend([0] * (computed_tokens - prompt_tokens))
    known = trace.ids[trace.starts[index] : trace.starts[index + 1]].tolist()
    hashes = [b"known" + block_id.to_bytes(27, "big") for block_id in known]
    answer = range(len(known), computed_tokens // trace.block_size)
    hashes += [b"answer" + index.to_bytes(13, "big") + block.to_bytes(13, "big") for block in answer]
    request.block_hashes = hashes
    return request


def _kernel_s(trace: DenseTrace, capacity_blocks: int) -> tuple[float, int, int]:
    started_s = time.process_time()
    run = run_kernel(trace, policy="lru", capacity_blocks=capacity_blocks)
    seconds = time.process_time() - started_s
    return seconds, int(run.hit_blocks.sum()) * trace.block_size, int(run.evicted_blocks.sum())


def main(path: str, capacity_blocks: int, runs: int) -> None:
    """Interleave all sides ``runs`` times; ``ValueError`` if they do not agree on hits and evictions."""
    trace = dense(Path(path))
    _kernel_s(trace, capacity_blocks)  # compiled by now
    seconds: dict[str, list[float]] = {"kernel": [], "token_by_token": [], "answer_at_once": []}
    outcomes = set()
    for _ in range(runs):
        gc.collect()
        kernel_s, *outcome = _kernel_s(trace, capacity_blocks)
        seconds["kernel"].append(kernel_s)
        outcomes.add(tuple(outcome))
        for name in ("token_by_token", "answer_at_once"):
            run = run_manager(trace, capacity_blocks, token_by_token=name == "token_by_token")
            seconds[name].append(run.seconds)
            outcomes.add((run.hit_tokens, run.evicted_blocks))
    if len(outcomes) != 1:
        raise ValueError(f"the sides disagree on (hit tokens, evicted blocks): {sorted(outcomes)}")
    hit_tokens, evicted_blocks = outcomes.pop()
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    document = {"requests": trace.requests, "hit_tokens": hit_tokens, "evicted_blocks": evicted_blocks}
    sys.stdout.write(json.dumps(document | {"medians_s": medians}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
