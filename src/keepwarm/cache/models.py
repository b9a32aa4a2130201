"""What a model's configuration says about its KV cache, as vLLM 0.32.0 reads it.

Sources: ``transformers_utils/model_arch_config_convertor.py`` (layers, heads, head size, latent
attention), ``v1/kv_cache_interface.py`` and backends' ``customize_spec`` (bytes), ``utils/torch_utils.py``
(what the KV type ``auto`` means), ``v1/core/kv_cache_utils.py`` (what a hit is a multiple of).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from keepwarm._errors import InputError
from keepwarm.cache.fields import ConfigFields, read_fields
from keepwarm.cache.refusals import check_supported, has_latent_cache

_FP8_TYPES = ("fp8", "fp8_e4m3", "fp8_e5m2", "fp8_inc")
_LATENT_KV_TYPES = ("auto", "float16", "bfloat16", "float32", *_FP8_TYPES)
_PER_HEAD_SCALE_BYTES = 4  # one float32 a token, KV head and side
_MODELOPT_TYPES: Mapping[str, str] = {"fp8": "fp8_e4m3", "nvfp4": "nvfp4"}


class ModelConfig(NamedTuple):
    """The shape of one model's KV cache. Heads and layers are the whole model's, not one GPU's.

    A latent cache (multi-head latent attention) is one vector of ``head_dim`` a token: it has one KV head,
    no separate values (``v_head_dim`` 0), and every GPU of a tensor-parallel group holds all of it.
    ``kv_cache_dtype`` is what ``auto`` means for this model. ``match_unit_tokens``: a hit is a multiple of
    it, None where the block is the unit. ``context_parallel``: GPUs that share out one block's tokens.
    """

    path: Path
    layers: int
    attention_heads: int
    kv_heads: int
    head_dim: int
    v_head_dim: int
    kv_cache_dtype: str = "auto"
    max_model_len: int | None = None
    match_unit_tokens: int | None = None
    context_parallel: int = 1

    @property
    def is_latent(self) -> bool:
        """Whether the cache holds one latent vector a token instead of keys and values."""
        return self.v_head_dim == 0

    def kv_heads_per_gpu(self, tensor_parallel: int = 1) -> int:
        """KV heads that one GPU holds: an even share, or one copy where there are more GPUs than heads.

        Raises:
            InputError: the model cannot be split that way.
        """
        if tensor_parallel < 1 or self.attention_heads % tensor_parallel:
            raise InputError(
                f"{str(self.path)!r}: {self.attention_heads} attention heads cannot be split over "
                f"{tensor_parallel!r} GPUs; give a tensor-parallel size that divides them"
            )
        if self.is_latent:
            return 1
        if self.kv_heads % tensor_parallel and tensor_parallel % self.kv_heads:
            raise InputError(
                f"{str(self.path)!r}: {self.kv_heads} KV heads cannot be split over {tensor_parallel!r} "
                "GPUs; give a tensor-parallel size that divides them, or a multiple of them"
            )
        return max(1, self.kv_heads // tensor_parallel)

    def bytes_per_token(self, tensor_parallel: int = 1, kv_cache_dtype: str = "auto") -> int:
        """Bytes of KV that one GPU keeps for one token, all layers together.

        Raises:
            InputError: an unknown ``kv_cache_dtype``, or the model cannot be split that way.
        """
        dtype = self.kv_cache_dtype if kv_cache_dtype == "auto" else kv_cache_dtype
        if self.is_latent and dtype not in _LATENT_KV_TYPES:
            raise InputError(
                f"{str(self.path)!r}: KV cache type {dtype!r} is not one for a latent cache; give "
                f"{', '.join(_LATENT_KV_TYPES)}"
            )
        heads = self.kv_heads_per_gpu(tensor_parallel)
        return self.layers * heads * (_side_bytes(self.head_dim, dtype) + _side_bytes(self.v_head_dim, dtype))

    def hit_unit_tokens(self, block_size: int) -> int:
        """What a hit is a multiple of, in tokens: a block, unless the configuration has a larger unit.

        Raises:
            InputError: the unit is no whole number of blocks.
        """
        unit = self.match_unit_tokens or block_size * self.context_parallel
        if block_size < 1 or unit % block_size:
            raise InputError(
                f"{str(self.path)!r}: hits land on multiples of {unit} tokens, which is no whole number of "
                f"blocks of {block_size!r}; give a block size that divides it"
            )
        return unit


def read_model_config(path: Path) -> ModelConfig:
    """The KV cache of the model whose ``config.json`` is ``path``, or is in the folder ``path``.

    Raises:
        InputError: it cannot be read, lacks a field, or needs more than single-group full attention.
    """
    return model_config(read_fields(path))


def model_config(fields: ConfigFields) -> ModelConfig:
    """The KV cache that ``fields`` describe. Raises InputError as ``read_model_config`` does."""
    check_supported(fields)
    heads = fields.required_integer("num_attention_heads", "n_head", "n_heads", "num_heads")
    latent = _latent_dim(fields)
    head_dim = latent or _head_dim(fields, heads)
    return ModelConfig(
        path=fields.path,
        layers=fields.required_integer("num_hidden_layers", "n_layer", "n_layers", "num_layers"),
        attention_heads=heads,
        kv_heads=1 if latent else _kv_heads(fields, heads),
        head_dim=head_dim,
        v_head_dim=0 if latent else head_dim,
        kv_cache_dtype=_auto_kv_dtype(fields),
        max_model_len=_max_model_len(fields),
        match_unit_tokens=fields.integer("prefix_match_unit"),
        context_parallel=fields.integer("decode_context_parallel_size") or 1,
    )


def _side_bytes(dim: int, kv_cache_dtype: str) -> int:
    """Bytes of one head's keys, or its values, for one token."""
    if kv_cache_dtype in ("auto", "float16", "half", "bfloat16"):  # a float32 model is served in 16 bits
        return 2 * dim
    if kv_cache_dtype in _FP8_TYPES:
        return dim
    if kv_cache_dtype in ("float32", "float"):  # what auto means under --dtype float32
        return 4 * dim
    if kv_cache_dtype in ("nvfp4", "nvfp4_4over6"):  # packed, and one scale for 16 values
        return dim // 2 + dim // 16
    if kv_cache_dtype in ("fp8_per_token_head", "int8_per_token_head"):
        return dim + _PER_HEAD_SCALE_BYTES
    if kv_cache_dtype == "int4_per_token_head":
        return dim // 2 + _PER_HEAD_SCALE_BYTES
    raise InputError(
        f"KV cache type {kv_cache_dtype!r} is not known; give auto, float16, bfloat16, float32, "
        f"{', '.join(_FP8_TYPES)}, nvfp4, or fp8_, int8_ or int4_per_token_head"
    )


def _latent_dim(fields: ConfigFields) -> int | None:
    if not has_latent_cache(fields):
        return None
    return fields.required_integer("kv_lora_rank") + (fields.integer("qk_rope_head_dim") or 0)


def _head_dim(fields: ConfigFields, heads: int) -> int:
    return (
        fields.integer("head_dim")
        or fields.integer("hidden_size_per_head")
        or fields.required_integer("hidden_size", "n_embd", "d_model") // heads
    )


def _kv_heads(fields: ConfigFields, heads: int) -> int:
    if fields.get("multi_query") and not fields.get("new_decoder_architecture"):  # Falcon, GPT-BigCode
        return 1
    attention = fields.get("attn_config")  # DBRX
    if isinstance(attention, dict) and isinstance(attention.get("kv_n_heads"), int):
        return int(attention["kv_n_heads"])
    names = ("n_head_kv", "num_kv_heads", "num_key_value_heads", "multi_query_group_num")
    return fields.integer(*names, "num_attention_groups") or heads


def _auto_kv_dtype(fields: ConfigFields) -> str:
    """What the server stores when it is told nothing: a checkpoint may bring scales for smaller types."""
    quantization = fields.get("quantization_config", "compression_config")
    if not isinstance(quantization, dict):
        return "auto"
    inner = quantization.get("quantization")
    parts = [part for part in (inner, quantization) if isinstance(part, dict)]
    if str(quantization.get("quant_method", "")).startswith("modelopt") or "producer" in quantization:
        names = ("kv_cache_scheme", "kv_cache_quant_algo")
        algorithm = next((part[name] for name in names for part in parts if part.get(name)), None)
        if isinstance(algorithm, dict):
            algorithm = {8: "fp8", 4: "nvfp4"}.get(algorithm.get("num_bits", 0))
        return _MODELOPT_TYPES.get(str(algorithm).lower(), "auto")
    return "fp8" if quantization.get("kv_cache_scheme") is not None else "auto"


def _max_model_len(fields: ConfigFields) -> int | None:
    """The length the model was made for; a rope factor may stretch what the server takes."""
    names = "max_position_embeddings n_positions max_seq_len seq_length model_max_length max_sequence_length"
    lengths = [fields.integer(name) for name in (*names.split(), "max_seq_length", "seq_len")]
    return min((length for length in lengths if length), default=None)
