"""Models whose KV cache is more than one group of full attention: refused, with the field that says so.

Decided as vLLM 0.32.0 decides it: the sliding window and ``layer_types`` rule of ``engine/arg_utils.py``,
``is_hybrid`` of ``config/model.py``, the interfaces of its model classes, the specs its layers return from
``get_kv_cache_spec``. What a configuration leaves out counts as what the class of its model type fills in.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from keepwarm._errors import InputError
from keepwarm.cache.fields import ConfigFields

# Spellings of a layer that keeps every token's keys and values.
_FULL_LAYERS = frozenset({"attention", "full_attention"})
# Model types, by how their names begin, and architectures with recurrent layers.
_RECURRENT_TYPES = re.compile(
    "bailing_hybrid|bamba|falcon_h1|falcon_mamba|glm5_next|granitemoehybrid|inkling|jamba|kimi_k3|kimi_linear|lfm2"
    "|mamba|minicpmv4_6|minicpmv4_7|minimax_text|nemotron_h|olmo_hybrid|plamo2|qwen3_5|qwen3_next|qwen4_exp"
    "|recurrent_gemma|rwkv|zamba|zaya"
)
_RECURRENT_ARCHITECTURES = re.compile(
    ".*(BailingMoeV2_5|BailingMoeV3|FalconH1|InternS2|Jamba|KimiK3|KimiLinear|Lfm2|Mamba|MiniMaxM1|MiniMaxText01"
    "|NemotronH|OlmoHybrid|Plamo2|Qwen3Next|Qwen3_5|RWKV|Rwkv|Zamba)"
)
# Model types whose class slides, or chunks, unless it is told otherwise.
_WINDOW_TYPES = re.compile(
    "(afmoe|cohere2|cohere2_moe|cwm|exaone4|exaone_moe|gemma2|gemma3|gemma3_text|gemma3n|gemma3n_text|gemma4"
    "|gemma4_text|gemma4_unified|gemma4_unified_text|gpt_oss|granite_swa|granitemoe_swa|mimo_v2_flash|ministral"
    "|mistral|muse_glimmer|muse_glimmer_text|olmo3|vaultgemma)$"
)
_CHUNK_TYPES = re.compile("llama4(_text)?$")
_OPT_IN_WINDOW_TYPES = re.compile("qwen2|qwen3|dots1")  # these slide only if use_sliding_window says so
_QWEN_WINDOW_LAYERS = 28  # their first layer that slides, where the configuration does not say
_ENCODER_TYPES = re.compile(
    "(albert|bert|clip|deberta|deberta-v2|distilbert|electra|modernbert|mpnet|nomic_bert|roberta|siglip"
    "|xlm-roberta)$"
)
_DRAFT_TYPES = re.compile("eagle3?$|medusa|mlp_speculator|.*_mtp$|.*dflash|.*dspark")
_DRAFT_ARCHITECTURES = re.compile(".*(Eagle(?!2_5)|Medusa|MTP|Speculator|DFlash|DSpark)")
# The model types whose latent cache vLLM knows; with an index or compressed states they are refused.
_LATENT_TYPES = re.compile(
    "(axk1|deepseek_v2|deepseek_v3|deepseek_v32|glm4_moe_lite|kimi_k2|longcat_flash|pangu_ultra_moe)$"
)

_SHOWN_CHARACTERS = 40
_MEASURE = "measure this model on a server instead"
_NULL_WINDOW = "set 'sliding_window' to null if the server runs with --disable-sliding-window"


class Refusal(NamedTuple):
    """``field`` is what says so, ``shown`` its value as told to the user, ``kind`` what the model needs."""

    field: str
    shown: str
    kind: str
    next_step: str = _MEASURE


class _FieldRule(NamedTuple):
    """``field`` asks for ``kind`` of cache where its value is more than ``harmless``."""

    field: str
    kind: str
    harmless: int = 0


_RECURRENT_RULES = (
    _FieldRule("layers_block_type", "recurrent layers"),
    _FieldRule("hybrid_override_pattern", "recurrent layers"),
    _FieldRule("attn_layer_period", "recurrent layers", harmless=1),
    _FieldRule("full_attention_interval", "linear attention", harmless=1),
    _FieldRule("linear_attn_config", "linear attention"),
    _FieldRule("ssm_cfg", "no attention layers"),
    _FieldRule("mamba_d_state", "recurrent layers"),
    _FieldRule("conv_L_cache", "convolution layers"),
)
_FIELD_RULES = (
    _FieldRule("is_encoder_decoder", "cross-attention to an encoder"),
    _FieldRule("add_cross_attention", "cross-attention"),
    _FieldRule("cross_attention_layers", "cross-attention"),
    _FieldRule("speculative_config", "speculative decoding, which drops the last block of a hit"),
    _FieldRule("speculators_config", "a draft model for speculative decoding"),
    _FieldRule("speculators_model_type", "a draft model for speculative decoding"),
    _FieldRule("attention_chunk_size", "chunked attention"),
    _FieldRule("hybrid_layer_pattern", "sliding-window layers"),
    _FieldRule("interleaved_sliding_window", "sliding-window layers"),
    _FieldRule("sliding_windows", "sliding-window layers"),
    _FieldRule("attention_window_size", "sliding-window layers"),
    _FieldRule("loop_window_size", "sliding-window layers"),
    _FieldRule("rswa_window", "a reference sliding window"),
    _FieldRule("num_kv_shared_layers", "layers that share KV"),
    _FieldRule("cla_share_factor", "layers that share KV", harmless=1),
    _FieldRule("block_configs", "layers of unequal shape"),
    _FieldRule("per_layer_config", "layers of unequal shape"),
    _FieldRule("index_topk", "sparse attention with an index cache"),
    _FieldRule("compress_ratios", "a compressed cache"),
    _FieldRule("param_sink_number", "sink blocks"),
    _FieldRule("canvas_length", "diffusion in place of causal attention"),
)


def check_supported(fields: ConfigFields) -> None:
    """Return if ``fields`` describe single-group full attention.

    Raises:
        InputError: they do not; names the field, its value and what is supported.
    """
    refusal = find_refusal(fields)
    if refusal:
        raise InputError(
            f"{str(fields.path)!r}: {refusal.field!r} is {refusal.shown}, which means {refusal.kind}; only "
            f"single-group full attention is simulated: {refusal.next_step}"
        )


def find_refusal(fields: ConfigFields) -> Refusal | None:
    """The first thing in ``fields`` that single-group full attention cannot hold, None if there is none."""
    return next(filter(None, (rule(fields) for rule in _RULES)), None)


def has_latent_cache(fields: ConfigFields) -> bool:
    """Whether the model keeps one latent vector a token, as DeepSeek's do."""
    return fields.get("kv_lora_rank") is not None and _of_kind(fields, types=_LATENT_TYPES) is not None


def _draft_model(fields: ConfigFields) -> Refusal | None:
    draft = _of_kind(fields, types=_DRAFT_TYPES, architectures=_DRAFT_ARCHITECTURES)
    return draft and draft._replace(kind="a draft model for speculative decoding")


def _encoder(fields: ConfigFields) -> Refusal | None:
    encoder = None if fields.get("is_decoder") else _of_kind(fields, types=_ENCODER_TYPES)
    return encoder and encoder._replace(kind="an encoder, which keeps no KV cache")


def _recurrent(fields: ConfigFields) -> Refusal | None:
    layers = fields.strings("layer_types")
    if layers and _FULL_LAYERS.issuperset(layers):
        return None  # the class could, this model does not
    odd = [layer for layer in layers if layer not in _FULL_LAYERS]
    if odd:
        shown = f"{odd[0]!r} in {odd.count(odd[0])} of {len(layers)} layers"
        return Refusal("layer_types", shown, f"{odd[0].replace('_', ' ')} layers")
    kinds = fields.get("attn_type_list")
    if isinstance(kinds, list) and any(kind != 1 for kind in kinds):
        return Refusal("attn_type_list", _shown(kinds), "linear attention")
    recurrent = _of_kind(fields, types=_RECURRENT_TYPES, architectures=_RECURRENT_ARCHITECTURES)
    if recurrent:
        return recurrent._replace(kind="recurrent layers, or no attention at all")
    return _first_in_force(fields, _RECURRENT_RULES)


def _window(fields: ConfigFields) -> Refusal | None:
    if fields.strings("layer_types"):
        return None  # all full, or refused already: only an all-sliding model takes its window from the field
    window = fields.get("sliding_window")
    opt_in = _of_kind(fields, types=_OPT_IN_WINDOW_TYPES) is not None
    used = fields.text.get("use_sliding_window")
    if used is False or (used is None and opt_in):
        return None
    if isinstance(window, int) and window > 0 and not (opt_in and _slides_past_the_end(fields)):
        return Refusal("sliding_window", repr(window), "sliding-window layers", _NULL_WINDOW)
    silent = None if "sliding_window" in fields.text else _of_kind(fields, types=_WINDOW_TYPES)
    return silent and silent._replace(
        kind="sliding-window layers where 'sliding_window' is not given", next_step=_NULL_WINDOW
    )


def _chunk(fields: ConfigFields) -> Refusal | None:
    silent = None if "attention_chunk_size" in fields.text else _of_kind(fields, types=_CHUNK_TYPES)
    return silent and silent._replace(kind="chunked attention")


def _unknown_latent(fields: ConfigFields) -> Refusal | None:
    rank = fields.get("kv_lora_rank")
    if rank is None or has_latent_cache(fields):
        return None
    return Refusal("kv_lora_rank", repr(rank), "a latent cache whose layout is not known for this model type")


def _in_force(fields: ConfigFields) -> Refusal | None:
    return _first_in_force(fields, _FIELD_RULES)


_RULES: tuple[Callable[[ConfigFields], Refusal | None], ...] = (
    _draft_model, _encoder, _recurrent, _in_force, _chunk, _window, _unknown_latent,
)  # fmt: skip


def _of_kind(
    fields: ConfigFields, *, types: re.Pattern[str], architectures: re.Pattern[str] | None = None
) -> Refusal | None:
    """Which model type or architecture of ``fields`` is one of these; the caller says what it means."""
    for model_type in fields.model_types():
        if types.match(model_type):
            return Refusal("model_type", repr(model_type), "")
    for name in fields.strings("architectures"):
        if architectures and architectures.match(name):
            return Refusal("architectures", repr(name), "")
    return None


def _first_in_force(fields: ConfigFields, rules: tuple[_FieldRule, ...]) -> Refusal | None:
    for rule in rules:
        value = fields.get(rule.field)
        if not value or (isinstance(value, int) and value <= rule.harmless and value is not True):
            continue
        return Refusal(rule.field, _shown(value), rule.kind)
    return None


def _slides_past_the_end(fields: ConfigFields) -> bool:
    """Whether the layers that would slide come after the last one."""
    layers = fields.integer("num_hidden_layers") or 0
    first = fields.get("max_window_layers")
    return layers <= (first if isinstance(first, int) else _QWEN_WINDOW_LAYERS)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"
