"""Serve calls with vLLM's own cache manager and write down the events that it publishes."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import NamedTuple

os.environ |= {"VLLM_LOGGING_LEVEL": "ERROR", "VLLM_NO_USAGE_STATS": "1"}

import msgspec
import numpy as np
import torch
from vllm.distributed.kv_events import KVEventBatch
from vllm.sampling_params import SamplingParams
from vllm.utils.hashing import sha256_cbor
from vllm.v1.core.kv_cache_manager import KVCacheManager
from vllm.v1.core.kv_cache_utils import get_request_block_hasher, init_none_hash
from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec
from vllm.v1.request import Request

from keepwarm.cache.replay import CacheRequest
from keepwarm.trace.hashes import block_hashes

BLOCK_SIZE = 16
CAPACITY_BLOCKS = 40


class Call(NamedTuple):
    prompt: list[int]
    output: list[int]

    def cache_request(self) -> CacheRequest:
        computed = np.array(self.prompt + self.output[:-1], dtype=np.int32)
        return CacheRequest(block_hashes(computed, BLOCK_SIZE), len(self.prompt), len(self.output))


def calls(seed: int) -> list[Call]:
    """Few prefixes, of whole blocks more often than not, and answers that fill some."""
    rng = random.Random(seed)

    def tokens(count: int) -> list[int]:
        return [rng.randrange(1000) for _ in range(count)]

    heads = [tokens(rng.choice([48, 64, 80])) for _ in range(4)]
    return [
        Call(
            rng.choice(heads)[: rng.choice([16, 32, 48, 64, 80])] + tokens(rng.choice([0, 0, 5, 30, 100])),
            tokens(rng.choice([1, 1, 20, 60])),
        )
        for _ in range(300)
    ]


def record(served: list[Call], file: Path) -> list[int]:
    """Serve one call after another, write down the events, return the hit tokens of each."""
    init_none_hash(sha256_cbor)
    hasher = get_request_block_hasher(BLOCK_SIZE, sha256_cbor)
    spec = FullAttentionSpec(block_size=BLOCK_SIZE, num_kv_heads=1, head_size=1, dtype=torch.float32)
    manager = KVCacheManager(
        KVCacheConfig(CAPACITY_BLOCKS + 1, [], [KVCacheGroupSpec(["layer"], spec)]),
        max_model_len=4096,
        scheduler_block_size=BLOCK_SIZE,
        hash_block_size=BLOCK_SIZE,
        enable_kv_cache_events=True,
    )
    hit_tokens = []
    with file.open("wb") as out:
        for index, call in enumerate(served):
            request = Request(
                str(index), call.prompt, SamplingParams(max_tokens=100), None, block_hasher=hasher
            )
            blocks, hits, *_ = manager.get_computed_blocks(request)
            hit_tokens.append(hits)
            assert manager.allocate_slots(request, len(call.prompt) - hits, hits, blocks)
            request.num_computed_tokens = len(call.prompt)
            for token in call.output[:-1]:
                request.append_output_token_ids(token)
                assert manager.allocate_slots(request, 1)
                request.num_computed_tokens += 1
            manager.free(request)
            out.write(msgspec.json.encode(KVEventBatch(float(index), manager.take_events())) + b"\n")
        assert manager.reset_prefix_cache()
        out.write(msgspec.json.encode(KVEventBatch(0.0, manager.take_events())) + b"\n")
    return hit_tokens
