"""What vLLM itself makes of a model's configuration: its layers, made without memory, say what they cache."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

os.environ |= {"VLLM_LOGGING_LEVEL": "ERROR", "VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1"}

import torch
from vllm.config import VllmConfig, set_current_vllm_config
from vllm.distributed import ensure_model_parallel_initialized, init_distributed_environment
from vllm.distributed.parallel_state import destroy_model_parallel
from vllm.engine.arg_utils import EngineArgs
from vllm.model_executor.layers.attention_layer_base import AttentionLayerBase
from vllm.model_executor.model_loader.utils import initialize_model
from vllm.model_executor.models import registry
from vllm.utils.torch_utils import STR_DTYPE_TO_TORCH_DTYPE, set_default_torch_dtype
from vllm.v1.attention.backends.triton_attn import TritonAttentionBackend
from vllm.v1.core.kv_cache_utils import get_kv_cache_groups
from vllm.v1.kv_cache_interface import (
    FullAttentionSpec,
    KVCacheGroupSpec,
    KVCacheSpec,
    MLAAttentionSpec,
    get_kv_quant_mode,
)

BLOCK_SIZE = 32  # the smallest of vLLM's CPU attention
DEFAULT_UTILIZATION = EngineArgs.gpu_memory_utilization


@contextmanager
def one_process(store: Path) -> Iterator[None]:
    """Be a group of one, meeting at ``store``, and look into model classes without a process for each."""
    init_distributed_environment(1, 0, f"file://{store}", 0, "gloo")
    with mock.patch.object(registry, "_run_in_subprocess", lambda inspect: inspect()):
        yield
    destroy_model_parallel()
    torch.distributed.destroy_process_group()


def groups_of(folder: Path, fields: dict[str, Any]) -> tuple[list[KVCacheGroupSpec], dict[str, KVCacheSpec]]:
    """The cache groups of a model, and what each layer asks for: no weights are made, no memory is taken."""
    (folder / "config.json").write_text(json.dumps(fields))
    server = EngineArgs(
        model=str(folder),
        skip_tokenizer_init=True,
        enforce_eager=True,
        dtype="bfloat16",
        block_size=BLOCK_SIZE,
    ).create_engine_config()
    server.cache_config.kv_cache_layout = "LBNHC"
    destroy_model_parallel()
    with set_current_vllm_config(server):
        ensure_model_parallel_initialized(1, 1)
        with torch.device("meta"), set_default_torch_dtype(server.model_config.dtype):
            initialize_model(server)
        specs = _layer_specs(server)
        return get_kv_cache_groups(server, specs), specs


def is_single_group(groups: list[KVCacheGroupSpec]) -> bool:
    """Whether it is what keepwarm simulates."""
    return len(groups) == 1 and type(groups[0].kv_cache_spec) in (FullAttentionSpec, MLAAttentionSpec)


def page_bytes(kv_cache_dtype: str, kv_heads: int, head_dim: int) -> int:
    """Bytes of one layer's block under a KV cache type."""
    spec = FullAttentionSpec(
        block_size=BLOCK_SIZE,
        num_kv_heads=kv_heads,
        head_size=head_dim,
        dtype=STR_DTYPE_TO_TORCH_DTYPE[kv_cache_dtype],
        kv_quant_mode=get_kv_quant_mode(kv_cache_dtype),
    )
    return TritonAttentionBackend.customize_spec(spec).page_size_bytes


def _layer_specs(server: VllmConfig) -> dict[str, KVCacheSpec]:
    layers = server.compilation_config.static_forward_context
    attention = {name: layer for name, layer in layers.items() if isinstance(layer, AttentionLayerBase)}
    specs = {name: layer.get_kv_cache_spec(server) for name, layer in attention.items()}
    return {name: spec for name, spec in specs.items() if spec is not None}
