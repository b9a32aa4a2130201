"""From a GPU and a model to blocks, and back: an estimate whose parts are all told.

GPU memory × utilisation − weights − overhead = memory for KV, and so blocks, as vLLM 0.32.0 divides it
(``determine_available_memory`` of ``v1/worker/gpu_worker.py``). The overhead is what it measures by running
the model once; here it is an allowance, so the outcome is an estimate, and the server's own number is better.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

import msgspec

from keepwarm._errors import InputError
from keepwarm.cache.fields import ConfigFields, read_fields
from keepwarm.cache.gpus import gpu_memory_gib
from keepwarm.cache.models import ModelConfig, model_config
from keepwarm.cache.weights import GIB, Weights, weigh

DEFAULT_UTILIZATION = 0.92  # vLLM 0.32.0, config/cache.py
DEFAULT_BLOCK_SIZE = 16
_MOST_GIB = 2.0**20  # more than any machine has: a slip
_FIXED_OVERHEAD_GIB = 1.0  # CUDA context, captured graphs, libraries


class SizingOptions(NamedTuple):
    """How the server is started.

    ``weights_gib`` are those of the whole model, ``overhead_gib`` is one GPU's; None: found or estimated.
    """

    block_size: int = DEFAULT_BLOCK_SIZE
    tensor_parallel: int = 1
    kv_cache_dtype: str = "auto"
    gpu_memory_utilization: float = DEFAULT_UTILIZATION
    weights_gib: float | None = None
    overhead_gib: float | None = None


class Sizing(msgspec.Struct, frozen=True, kw_only=True):
    """An estimate of how many blocks a server has. GiB and bytes are those of one GPU.

    ``blocks`` is the server's own count, the null block among it; ``usable_blocks`` counts blocks of
    ``block_size`` tokens that requests can use: what ``capacity_blocks`` means everywhere.
    """

    gpu: str
    tensor_parallel: int
    gpu_memory_gib: float
    gpu_memory_utilization: float
    weights_gib: float
    weights_source: str
    overhead_gib: float
    kv_gib: float
    block_size: int
    bytes_per_block: int
    blocks: int
    usable_blocks: int
    max_model_len: int | None

    def line(self) -> str:
        """All parts in one line, for people."""
        gpus = f"{self.tensor_parallel} × {self.gpu}" if self.tensor_parallel > 1 else self.gpu
        line = (
            f"{gpus} (estimate): {self.gpu_memory_gib:.2f} GiB × {self.gpu_memory_utilization:g} − weights "
            f"{self.weights_gib:.2f} ({self.weights_source}) − overhead {self.overhead_gib:.2f} = "
            f"{self.kv_gib:.2f} GiB of KV → {self.usable_blocks} usable blocks of {self.block_size} tokens, "
            f"{self.bytes_per_block / 1024:g} KiB each"
        )
        tokens = self.usable_blocks * self.block_size
        if self.max_model_len and tokens < self.max_model_len:
            line += f"; a server needs --max-model-len {tokens} or less, the model's is {self.max_model_len}"
        return line


def size_cache(
    model: Path, options: SizingOptions, *, gpu: str | None = None, memory_gib: float | None = None
) -> Sizing:
    """How many blocks a server of ``model`` (a ``config.json`` or its folder) has on each of its equal GPUs.

    ``memory_gib`` is one GPU's memory as its driver tells it; it stands in for what is known of ``gpu``.

    Raises:
        InputError: an option out of range, an unknown GPU, a model that is refused or whose weights are
            unknown, or no memory left for KV.
    """
    check_sizing(options, memory_gib)
    fields = read_fields(model)
    config = model_config(fields)
    bytes_per_block = block_bytes(config, options)
    if memory_gib is None:
        if gpu is None:
            raise InputError("no GPU given; give --gpu NAME, or its memory with --gpu-memory-gib")
        memory_gib = gpu_memory_gib(gpu)
    weights = _weights(fields, options)
    weights_gib = weights.gib / options.tensor_parallel
    overhead = options.overhead_gib
    if overhead is None:
        overhead = overhead_gib(fields, memory_gib, tensor_parallel=options.tensor_parallel, gpu=gpu)
    kv_bytes = math.ceil(memory_gib * GIB * options.gpu_memory_utilization)
    kv_bytes -= math.ceil((weights_gib + overhead) * GIB)
    sizing = Sizing(
        gpu=gpu or f"GPU of {memory_gib:g} GiB",
        tensor_parallel=options.tensor_parallel,
        gpu_memory_gib=memory_gib,
        gpu_memory_utilization=options.gpu_memory_utilization,
        weights_gib=weights_gib,
        weights_source=weights.source,
        overhead_gib=overhead,
        kv_gib=kv_bytes / GIB,
        block_size=options.block_size,
        bytes_per_block=bytes_per_block,
        blocks=max(0, kv_bytes) // bytes_per_block,
        usable_blocks=usable_blocks(max(0, kv_bytes), bytes_per_block, config),
        max_model_len=config.max_model_len,
    )
    if sizing.usable_blocks < 1:
        raise InputError(
            f"no memory left for KV: {memory_gib:.2f} GiB × {options.gpu_memory_utilization:g} − weights "
            f"{weights_gib:.2f} ({weights.source}) − overhead {overhead:.2f} = {sizing.kv_gib:.2f} GiB; give "
            "a larger GPU or --tensor-parallel"
        )
    return sizing


def check_sizing(options: SizingOptions, memory_gib: float | None = None) -> None:
    """Return if ``options``, and the memory of a GPU, are possible. Raises InputError: one is not."""
    if options.block_size < 1:
        raise InputError(f"block size {options.block_size!r} is not positive; give the server's, say 16")
    if not 0 < options.gpu_memory_utilization <= 1:
        raise InputError(
            f"GPU memory utilisation {options.gpu_memory_utilization!r} is not above 0 and up to 1; "
            f"vLLM's default is {DEFAULT_UTILIZATION}"
        )
    weights, overhead = options.weights_gib, options.overhead_gib
    for what, gib in (("GPU memory", memory_gib), ("weights", weights), ("overhead", overhead)):
        if gib is not None and not 0 <= gib <= _MOST_GIB:
            raise InputError(f"{what} of {gib!r} GiB is not possible; give a positive number of GiB")


def block_bytes(config: ModelConfig, options: SizingOptions) -> int:
    """Bytes that one GPU keeps for one block. Raises InputError as ``ModelConfig.bytes_per_token`` does."""
    return options.block_size * config.bytes_per_token(options.tensor_parallel, options.kv_cache_dtype)


def usable_blocks(kv_bytes: int, bytes_per_block: int, config: ModelConfig) -> int:
    """Blocks of ``block_size`` tokens that requests can use: the null block takes one, 0 if there is none."""
    return max(0, kv_bytes // bytes_per_block - 1) * config.context_parallel


def blocks_to_gib(capacity_blocks: int, config: ModelConfig, options: SizingOptions) -> float:
    """GiB of KV memory that one GPU needs for ``capacity_blocks`` usable blocks, the null block included."""
    own = -(-capacity_blocks // config.context_parallel)
    return (own + 1) * block_bytes(config, options) / GIB


def overhead_gib(
    fields: ConfigFields, memory_gib: float, *, tensor_parallel: int = 1, gpu: str | None = None
) -> float:
    """An allowance for what vLLM measures: activations of one full batch, logits, and a fixed part.

    The batch is the default of vLLM for such a GPU: tokens × (4 × hidden + 2 × MLP width) in 16 bits, the
    part of the MLP split over the GPUs, and two float32 rows of logits for each sequence.
    """
    tokens, sequences = _default_batch(memory_gib, gpu)
    hidden = fields.integer("hidden_size", "n_embd", "d_model") or 0
    width = fields.integer("intermediate_size") or 4 * hidden
    activations = 2 * tokens * (4 * hidden + 2 * width // tensor_parallel)
    logits = 2 * 4 * sequences * (fields.integer("vocab_size") or 0)
    return _FIXED_OVERHEAD_GIB + (activations + logits) / GIB


class _Batch(NamedTuple):
    tokens: int
    sequences: int


def _default_batch(memory_gib: float, gpu: str | None) -> _Batch:
    """What a server takes into one step if not told; an A100 counts as small (``engine/arg_utils.py``)."""
    if memory_gib >= 160:
        return _Batch(16384, 1024)
    large = memory_gib >= 70 and "a100" not in (gpu or "").lower()
    return _Batch(8192, 1024) if large else _Batch(2048, 256)


def _weights(fields: ConfigFields, options: SizingOptions) -> Weights:
    if options.weights_gib is not None:
        return Weights(math.ceil(options.weights_gib * GIB), "given")
    return weigh(fields)
