"""The capacity that a server would have, and the memory that a capacity takes."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import msgspec

from keepwarm.cache.gpus import gpu_memory_gib
from keepwarm.cache.models import ModelConfig, read_model_config
from keepwarm.cache.options import ServerOptions
from keepwarm.cache.simulation import ServerSize
from keepwarm.cache.sizing import (
    DEFAULT_BLOCK_SIZE,
    DEFAULT_UTILIZATION,
    SizingOptions,
    block_bytes,
    blocks_to_gib,
    check_sizing,
    size_cache,
)


class Server(NamedTuple):
    """A model's cache, and how much of it a GPU holds where one was named."""

    model: ModelConfig
    sizing: SizingOptions
    size: ServerSize | None

    def bytes_per_block(self) -> int:
        """Bytes of one GPU that one usable block takes."""
        return block_bytes(self.model, self.sizing) // self.model.context_parallel

    def kv_gib(self, capacity_blocks: int) -> float:
        """GiB of one GPU that so many usable blocks take."""
        return blocks_to_gib(capacity_blocks, self.model, self.sizing)


def check_server(options: ServerOptions) -> None:
    """Before a long read: that model, GPU and settings will do.

    Raises:
        InputError: the model is refused, the GPU is unknown, a setting is out of range.
    """
    model = read_model_config(Path(options.model_config))
    settings = _settings(options, DEFAULT_BLOCK_SIZE)
    check_sizing(settings, options.gpu_memory_gib)
    block_bytes(model, settings)
    if options.gpu is not None and options.gpu_memory_gib is None:
        gpu_memory_gib(options.gpu)


def read_server(options: ServerOptions, block_size: int) -> Server:
    """The server that ``options`` describe.

    Raises:
        InputError: an option out of range, an unknown GPU, a model that is refused or whose weights are
            unknown, or no memory left for KV.
    """
    path = Path(options.model_config)
    sizing = _settings(options, block_size)
    model = read_model_config(path)
    size = None
    if options.gpu is not None or options.gpu_memory_gib is not None:
        found = size_cache(path, sizing, gpu=options.gpu, memory_gib=options.gpu_memory_gib)
        size = ServerSize(**msgspec.structs.asdict(found), summary=found.line())
    return Server(model, sizing, size)


def _settings(options: ServerOptions, block_size: int) -> SizingOptions:
    chosen = options.gpu_memory_utilization
    return SizingOptions(
        block_size=block_size,
        tensor_parallel=options.tensor_parallel,
        kv_cache_dtype=options.kv_cache_dtype,
        gpu_memory_utilization=DEFAULT_UTILIZATION if chosen is None else chosen,
        weights_gib=options.weights_gib,
        overhead_gib=options.overhead_gib,
    )
