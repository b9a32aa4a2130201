"""How much memory a model's weights take: told, weighed beside its configuration, or estimated from it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import msgspec

from keepwarm._errors import InputError
from keepwarm._json import decoded
from keepwarm.cache.fields import ConfigFields

GIB = 1 << 30

# Model types built as the estimate assumes: gated MLP, projections without large biases.
_ESTIMATED_TYPES = re.compile(
    "(deepseek_v2|deepseek_v3|glm|glm4|glm4_moe|granite|internlm3|kimi_k2|llama|mistral|mixtral|olmo2|phi3|qwen2"
    "|qwen3|qwen3_moe|smollm3)$"
)
_BITS = {"float32": 32, "bfloat16": 16, "float16": 16}  # None of them: 16, as most checkpoints
_GIVE = "give their size with --weights-gib"


class Weights(NamedTuple):
    """Bytes of all weights together, before they are split over GPUs; ``source`` says how they are known."""

    total_bytes: int
    source: str

    @property
    def gib(self) -> float:
        """The same in GiB."""
        return self.total_bytes / GIB


class _SafetensorsIndex(msgspec.Struct):
    metadata: dict[str, object]


def weigh(fields: ConfigFields) -> Weights:
    """The weights of the model of ``fields``: the files beside its configuration, else an estimate.

    Raises:
        InputError: there are no files, and its architecture is none of those that can be estimated.
    """
    return _weigh_files(fields.path.parent) or _estimate(fields)


def parameter_count(fields: ConfigFields) -> int:
    """Parameters of a decoder with gated MLPs, dense or mixture of experts; norms and biases left out.

    Raises:
        InputError: a field it depends on is missing.
    """
    hidden = fields.required_integer("hidden_size")
    layers = fields.required_integer("num_hidden_layers")
    embeddings = fields.required_integer("vocab_size") * hidden
    if fields.get("tie_word_embeddings") is not True:
        embeddings *= 2
    dense_layers, expert_layers = _layer_kinds(fields, layers)
    total = embeddings + layers * _attention(fields, hidden)
    total += dense_layers * 3 * hidden * (fields.integer("intermediate_size") or 0)
    if expert_layers:
        total += expert_layers * _experts(fields, hidden)
    return total


def _weigh_files(folder: Path) -> Weights | None:
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        try:
            size = decoded(index.read_bytes(), _SafetensorsIndex).metadata["total_size"]
        except (msgspec.DecodeError, KeyError, OSError) as error:
            raise InputError(
                f"{str(index)!r} has no readable metadata.total_size ({error}); {_GIVE}"
            ) from error
        if not isinstance(size, (int, float)) or size <= 0:
            raise InputError(f"{str(index)!r}: metadata.total_size is {size!r}; {_GIVE}")
        return Weights(int(size), index.name)
    single = folder / "model.safetensors"
    return Weights(single.stat().st_size, single.name) if single.is_file() else None


def _estimate(fields: ConfigFields) -> Weights:
    kinds = fields.model_types()
    if fields.text is not fields.root or not kinds or not _ESTIMATED_TYPES.match(kinds[0]):
        raise InputError(
            f"{str(fields.path)!r}: no model.safetensors.index.json beside it, and the weights of "
            f"{' / '.join(kinds) or 'this model'!r} are not estimated; {_GIVE}"
        )
    bits = _bits_per_weight(fields)
    count = parameter_count(fields)
    return Weights(count * bits // 8, f"an estimate, {count / 1e9:.2f} billion parameters at {bits} bits")


def _bits_per_weight(fields: ConfigFields) -> int:
    quantization = fields.get("quantization_config")
    if quantization is None:
        dtype = fields.get("dtype", "torch_dtype")
        return _BITS.get(str(dtype), 16)
    bits = quantization.get("bits") if isinstance(quantization, dict) else None
    if isinstance(bits, int) and not isinstance(bits, bool) and 1 <= bits <= 16:
        return bits
    if isinstance(quantization, dict) and quantization.get("quant_method") == "fp8":
        return 8
    raise InputError(
        f"{str(fields.path)!r}: the weights are quantised in a way that is not estimated; {_GIVE}"
    )


def _attention(fields: ConfigFields, hidden: int) -> int:
    heads = fields.required_integer("num_attention_heads")
    rank = fields.integer("kv_lora_rank")
    if rank is None:
        head_dim = fields.integer("head_dim") or hidden // heads
        kv_heads = fields.integer("num_key_value_heads") or heads
        return 2 * hidden * head_dim * (heads + kv_heads)
    rope, nope = fields.required_integer("qk_rope_head_dim"), fields.required_integer("qk_nope_head_dim")
    value = fields.required_integer("v_head_dim")
    query_rank = fields.integer("q_lora_rank")
    query = heads * (nope + rope)
    queries = query_rank * (hidden + query) if query_rank else hidden * query
    return queries + hidden * (rank + rope) + rank * heads * (nope + value) + heads * value * hidden


def _layer_kinds(fields: ConfigFields, layers: int) -> tuple[int, int]:
    """Layers with one MLP, and layers with experts."""
    if _expert_count(fields) is None:
        return layers, 0
    dense = fields.get("mlp_only_layers")
    dense_layers = len(dense) if isinstance(dense, list) else (fields.integer("first_k_dense_replace") or 0)
    return min(dense_layers, layers), layers - min(dense_layers, layers)


def _expert_count(fields: ConfigFields) -> int | None:
    return fields.integer("num_experts", "n_routed_experts", "num_local_experts")


def _experts(fields: ConfigFields, hidden: int) -> int:
    experts = _expert_count(fields) or 0
    width = fields.required_integer("moe_intermediate_size", "intermediate_size")
    shared = fields.integer("n_shared_experts") or 0
    return 3 * hidden * width * (experts + shared) + hidden * experts
