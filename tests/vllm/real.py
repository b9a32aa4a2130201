"""The other side: vLLM's own scheduler and cache manager, without a model.

The scheduler is built from configuration alone, as vLLM's unit tests do, and the model runner's output is
made up: each request says its ``output`` tokens one after another.
"""

from __future__ import annotations

import json
import logging
import os
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

os.environ |= {"VLLM_LOGGING_LEVEL": "ERROR", "VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1"}

import torch
from vllm.config import CacheConfig, ModelConfig, SchedulerConfig, VllmConfig
from vllm.lora.request import LoRARequest
from vllm.sampling_params import SamplingParams
from vllm.utils.hashing import sha256_cbor
from vllm.v1.core.kv_cache_utils import get_block_hash, get_request_block_hasher, init_none_hash
from vllm.v1.core.sched.output import SchedulerOutput
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec
from vllm.v1.metrics.stats import PrefixCacheStats
from vllm.v1.outputs import ModelRunnerOutput
from vllm.v1.request import Request, RequestStatus
from vllm.v1.structured_output import StructuredOutputManager

from keepwarm.serving.base import LookupCounts, ServerConfig

logging.disable(logging.WARNING)  # a refused reset warns each time
init_none_hash(sha256_cbor)

# Any architecture with one kind of attention; nothing is ever computed with it.
_MODEL = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 32,
    "max_position_embeddings": 1 << 21,
    "vocab_size": 1024,
}


class Call(NamedTuple):
    """A request as both sides get it: token ids of the prompt and of the answer the model will give."""

    id: str
    prompt: list[int]
    output: list[int]
    salt: str | None = None
    lora: str | None = None
    skip_reads: bool = False
    session: str | None = None


class RealStep(NamedTuple):
    """What vLLM did in one step; like ``keepwarm.serving.base.StepResult``, hashes as vLLM has them."""

    scheduled: list[tuple[str, int]]
    hit_tokens: dict[str, int]
    evicted: list[bytes]
    preempted: set[str]
    finished: list[str]


class RealServer:
    """vLLM's scheduler with the limits of ``config``, of the class given."""

    def __init__(self, config: ServerConfig, scheduler_class: Any = Scheduler) -> None:
        self.scheduler = _scheduler(config, scheduler_class)
        self.pool = self.scheduler.kv_cache_manager.block_pool
        self.requests: dict[str, Request] = {}
        self.lookups = LookupCounts()
        self._outputs: dict[str, list[int]] = {}
        self._hasher = get_request_block_hasher(config.block_size, sha256_cbor)
        self._evicted: list[bytes] = []
        # Called with the hashes of each block that is evicted, whether or not events are published.
        self.pool._emit_block_removed_events = self._note_evicted

    def add(self, call: Call) -> Request:
        """Queue a request; returns it as vLLM has it, with its block hashes."""
        request = Request(
            request_id=call.id,
            prompt_token_ids=call.prompt,
            sampling_params=_sampling_params(len(call.output), call.skip_reads),
            pooling_params=None,
            lora_request=_lora(call.lora) if call.lora else None,
            cache_salt=call.salt,
            block_hasher=self._hasher,
            arrival_time=0.0,
            session_id=call.session,
        )
        self.requests[call.id] = request
        self._outputs[call.id] = call.output
        self.scheduler.add_request(request)
        return request

    def abort(self, request_id: str) -> bool:
        """Whether the request was there to be aborted."""
        return bool(self.scheduler.finish_requests(request_id, RequestStatus.FINISHED_ABORTED))

    def reset_cache(self, *, preempt_running: bool) -> bool:
        """What ``/reset_prefix_cache`` answers."""
        return self.scheduler.reset_prefix_cache(reset_running_requests=preempt_running)

    def forget(self, request_id: str) -> None:
        """Let go of a request that is over."""
        self.requests.pop(request_id, None)
        self._outputs.pop(request_id, None)

    def step(self) -> RealStep:
        """``schedule`` and ``update_from_output``."""
        self._evicted = []
        scheduled = self.scheduler.schedule()
        new, continued = scheduled.scheduled_new_reqs, scheduled.scheduled_cached_reqs
        hit_tokens = {request.req_id: request.num_computed_tokens for request in new}
        progress = dict(zip(continued.req_ids, continued.num_computed_tokens, strict=True))
        hit_tokens |= {request_id: progress[request_id] for request_id in continued.resumed_req_ids}
        finished = []
        for outputs in self.scheduler.update_from_output(scheduled, self._sampled(scheduled)).values():
            finished += [out.request_id for out in outputs.outputs if out.finish_reason is not None]
            if outputs.scheduler_stats is not None:
                self._count(outputs.scheduler_stats.prefix_cache_stats)
        return RealStep(
            list(scheduled.num_scheduled_tokens.items()),
            hit_tokens,
            self._evicted,
            scheduled.preempted_req_ids or set(),
            finished,
        )

    def free_order(self) -> Iterator[int]:
        """Ids of the free queue, head first."""
        queue = self.pool.free_block_queue
        block, tail = queue.fake_free_list_head.next_free_block, queue.fake_free_list_tail
        while block is not tail:
            yield block.block_id
            block = block.next_free_block

    @staticmethod
    def content(block_hash: bytes) -> bytes:
        """The hash of a block's content, without the number of its cache group."""
        return get_block_hash(block_hash)

    def _sampled(self, scheduled: SchedulerOutput) -> ModelRunnerOutput:
        """One token for each request with nothing left to compute, as a model runner would give."""
        ids = list(scheduled.num_scheduled_tokens)
        sampled: list[list[int]] = []
        for request_id in ids:
            request = self.requests[request_id]
            done = request.num_computed_tokens >= request.num_tokens
            sampled.append([self._outputs[request_id][request.num_output_tokens]] if done else [])
        return ModelRunnerOutput(ids, {name: index for index, name in enumerate(ids)}, sampled)

    def _note_evicted(self, hashes: list[bytes]) -> None:
        self._evicted += map(self.content, hashes)

    def _count(self, stats: PrefixCacheStats) -> None:
        self.lookups.requests += stats.requests
        self.lookups.query_tokens += stats.queries
        self.lookups.hit_tokens += stats.hits
        self.lookups.resumed_requests += stats.preempted_requests
        self.lookups.resumed_query_tokens += stats.preempted_queries
        self.lookups.resumed_hit_tokens += stats.preempted_hits


@cache
def _model_folder() -> str:
    folder = tempfile.mkdtemp(prefix="keepwarm-model-")
    Path(folder, "config.json").write_text(json.dumps(_MODEL))
    return folder


@cache
def _sampling_params(max_tokens: int, skip_reads: bool) -> SamplingParams:
    return SamplingParams(max_tokens=max_tokens, ignore_eos=True, prompt_logprobs=1 if skip_reads else None)


@cache
def _lora(name: str) -> LoRARequest:
    return LoRARequest(name, 1 + sum(name.encode()), f"adapters/{name}")


def _scheduler(config: ServerConfig, scheduler_class: Any) -> Any:
    blocks = config.capacity_blocks + 1  # the null block
    vllm_config = VllmConfig(
        model_config=ModelConfig(
            model=_model_folder(),
            dtype="float32",
            seed=0,
            skip_tokenizer_init=True,
            max_model_len=config.max_request_tokens,
        ),
        scheduler_config=SchedulerConfig(
            max_model_len=config.max_request_tokens,
            is_encoder_decoder=False,
            max_num_seqs=config.max_running_requests,
            max_num_batched_tokens=config.step_tokens,
            long_prefill_token_threshold=config.long_prefill_tokens,
            watermark=config.watermark,
            enable_chunked_prefill=True,
            async_scheduling=False,
        ),
        cache_config=CacheConfig(block_size=config.block_size, enable_prefix_caching=True),
    )
    vllm_config.cache_config.num_gpu_blocks = blocks
    attention = FullAttentionSpec(
        block_size=config.block_size, num_kv_heads=1, head_size=1, dtype=torch.float32
    )
    return scheduler_class(
        vllm_config=vllm_config,
        kv_cache_config=KVCacheConfig(
            num_blocks=blocks, kv_cache_tensors=[], kv_cache_groups=[KVCacheGroupSpec(["layer"], attention)]
        ),
        structured_output_manager=StructuredOutputManager(vllm_config),
        block_size=config.block_size,
        hash_block_size=config.block_size,
        log_stats=True,
    )
