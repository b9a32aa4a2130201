"""Facts of published models: the fields of their ``config.json`` that say what their KV cache is.

Every other field of the published files is left out. ``SINGLE_GROUP`` are models of single-group full
attention; ``REFUSED`` need more, each with the field that says so first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

Fields = dict[str, Any]


class Refused(NamedTuple):
    field: str
    fields: Fields


def _model(architecture: str, model_type: str, base: Fields | None = None, **more: Any) -> Fields:
    return (base or {}) | {"architectures": [architecture], "model_type": model_type} | more


def _decoder(layers: int, heads: int, kv_heads: int, hidden: int, mlp: int, vocab: int) -> Fields:
    """Gated MLPs and the names of Llama, which most models share."""
    return {
        "hidden_act": "silu",
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "hidden_size": hidden,
        "intermediate_size": mlp,
        "vocab_size": vocab,
        "max_position_embeddings": 32768,
        "torch_dtype": "bfloat16",
        "tie_word_embeddings": False,
    }


def _qwen2(*shape: int, **more: Any) -> Fields:
    more = {"use_sliding_window": False, "max_window_layers": 28} | more
    return _model("Qwen2ForCausalLM", "qwen2", _decoder(*shape), **more)


_LATENT: Fields = {"kv_lora_rank": 512, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128}
_DEEPSEEK_V3 = _model(
    "DeepseekV3ForCausalLM",
    "deepseek_v3",
    _decoder(61, 128, 128, 7168, 18432, 129280) | _LATENT,
    q_lora_rank=1536,
    n_routed_experts=256,
    n_shared_experts=1,
    moe_intermediate_size=2048,
    num_experts_per_tok=8,
    n_group=8,
    topk_group=4,
    first_k_dense_replace=3,
    num_nextn_predict_layers=1,
)
_FALCON: Fields = {
    "multi_query": True,
    "alibi": False,
    "bias": False,
    "parallel_attn": True,
    "vocab_size": 65024,
}

SINGLE_GROUP: dict[str, Fields] = {
    "llama-3.1-8b": _model("LlamaForCausalLM", "llama", _decoder(32, 32, 8, 4096, 14336, 128256)),
    "llama-3.1-70b": _model("LlamaForCausalLM", "llama", _decoder(80, 64, 8, 8192, 28672, 128256)),
    "smollm2-135m": _model(
        "LlamaForCausalLM", "llama", _decoder(30, 9, 3, 576, 1536, 49152), tie_word_embeddings=True
    ),
    "qwen2.5-1.5b": _qwen2(28, 12, 2, 1536, 8960, 151936, sliding_window=32768, tie_word_embeddings=True),
    "qwen2.5-7b": _qwen2(28, 28, 4, 3584, 18944, 152064, sliding_window=131072),
    "qwen3-8b": _model(
        "Qwen3ForCausalLM",
        "qwen3",
        _decoder(36, 32, 8, 4096, 12288, 151936),
        head_dim=128,
        sliding_window=None,
    ),
    "qwen3-30b-a3b": _model(
        "Qwen3MoeForCausalLM",
        "qwen3_moe",
        _decoder(48, 32, 4, 2048, 6144, 151936),
        head_dim=128,
        num_experts=128,
        num_experts_per_tok=8,
        moe_intermediate_size=768,
        mlp_only_layers=[],
        decoder_sparse_step=1,
        norm_topk_prob=True,
    ),
    "mistral-7b-v0.3": _model(
        "MistralForCausalLM", "mistral", _decoder(32, 32, 8, 4096, 14336, 32768), sliding_window=None
    ),
    "mistral-nemo": _model(
        "MistralForCausalLM",
        "mistral",
        _decoder(40, 32, 8, 5120, 14336, 131072),
        sliding_window=None,
        head_dim=128,
    ),
    "mixtral-8x7b": _model(
        "MixtralForCausalLM",
        "mixtral",
        _decoder(32, 32, 8, 4096, 14336, 32000),
        num_local_experts=8,
        num_experts_per_tok=2,
        sliding_window=None,
    ),
    "deepseek-v3": _DEEPSEEK_V3,
    "deepseek-v2-lite": _model(
        "DeepseekV2ForCausalLM",
        "deepseek_v2",
        _decoder(27, 16, 16, 2048, 10944, 102400) | _LATENT,
        q_lora_rank=None,
        n_routed_experts=64,
        n_shared_experts=2,
        moe_intermediate_size=1408,
        moe_layer_freq=1,
        num_experts_per_tok=6,
        n_group=1,
        topk_group=1,
        first_k_dense_replace=1,
    ),
    "phi-4": _model(
        "Phi3ForCausalLM",
        "phi3",
        _decoder(40, 40, 10, 5120, 17920, 100352),
        sliding_window=None,
        max_position_embeddings=16384,
        original_max_position_embeddings=16384,
        pad_token_id=100349,
    ),
    "glm-4-9b": _model(
        "Glm4ForCausalLM",
        "glm4",
        _decoder(40, 32, 2, 4096, 13696, 151552),
        head_dim=128,
        partial_rotary_factor=0.5,
        pad_token_id=151329,
    ),
    "gemma-7b": _model(
        "GemmaForCausalLM",
        "gemma",
        _decoder(28, 16, 16, 3072, 24576, 256000),
        head_dim=256,
        hidden_act="gelu_pytorch_tanh",
        tie_word_embeddings=True,
    ),
    "falcon-7b": _model(
        "FalconForCausalLM",
        "falcon",
        _FALCON,
        num_hidden_layers=32,
        num_attention_heads=71,
        hidden_size=4544,
        new_decoder_architecture=False,
    ),
    "falcon-40b": _model(
        "FalconForCausalLM",
        "falcon",
        _FALCON,
        num_hidden_layers=60,
        num_attention_heads=128,
        num_kv_heads=8,
        hidden_size=8192,
        new_decoder_architecture=True,
    ),
    "gpt2": _model(
        "GPT2LMHeadModel", "gpt2", n_layer=12, n_head=12, n_embd=768, n_positions=1024, vocab_size=50257
    ),
    "granite-4.0-micro": _model(
        "GraniteMoeHybridForCausalLM",
        "granitemoehybrid",
        _decoder(40, 40, 8, 2560, 8192, 100352),
        layer_types=["attention"] * 40,
        mamba_d_state=128,
        mamba_n_heads=80,
        num_local_experts=0,
        num_experts_per_tok=0,
        shared_intermediate_size=8192,
        position_embedding_type="rope",
        tie_word_embeddings=True,
    ),
}

_BASE = _decoder(32, 32, 8, 4096, 14336, 32000)
_FIVE_OF_SIX = (["sliding_attention"] * 5 + ["full_attention"]) * 6
_THREE_OF_FOUR = ["linear_attention"] * 3 + ["full_attention"]


def _text(text: Fields) -> Fields:
    return {"text_config": text}


_REFUSED_WINDOWS = {
    "mistral-7b-v0.1": Refused(
        "sliding_window", _model("MistralForCausalLM", "mistral", _BASE, sliding_window=4096)
    ),
    "mistral-silent": Refused("model_type", _model("MistralForCausalLM", "mistral", _BASE)),
    "phi-3-mini": Refused(
        "sliding_window",
        _model(
            "Phi3ForCausalLM",
            "phi3",
            _decoder(32, 32, 32, 3072, 8192, 32064),
            sliding_window=2047,
            pad_token_id=32000,
        ),
    ),
    "qwen2-sliding": Refused(
        "sliding_window",
        _qwen2(
            28, 28, 4, 3584, 18944, 152064, use_sliding_window=True, sliding_window=4096, max_window_layers=0
        ),
    ),
    "starcoder2": Refused(
        "sliding_window",
        _model(
            "Starcoder2ForCausalLM",
            "starcoder2",
            _decoder(32, 36, 4, 4608, 18432, 49152),
            sliding_window=4096,
            hidden_act="gelu_pytorch_tanh",
        ),
    ),
    "gemma-2-9b": Refused(
        "sliding_window",
        _model(
            "Gemma2ForCausalLM",
            "gemma2",
            _decoder(42, 16, 8, 3584, 14336, 256000),
            head_dim=256,
            sliding_window=4096,
        ),
    ),
    "gemma-3-4b": Refused(
        "sliding_window",
        _model(
            "Gemma3ForConditionalGeneration",
            "gemma3",
            _text(
                {
                    "model_type": "gemma3_text",
                    "hidden_size": 2560,
                    "num_hidden_layers": 34,
                    "sliding_window": 1024,
                }
            ),
        ),
    ),
    "gemma-3-1b": Refused(
        "sliding_window",
        _model(
            "Gemma3ForCausalLM",
            "gemma3_text",
            _decoder(26, 4, 1, 1152, 6912, 262144),
            head_dim=256,
            sliding_window=512,
            sliding_window_pattern=6,
        ),
    ),
    "gpt-oss-20b": Refused(
        "layer_types",
        _model(
            "GptOssForCausalLM",
            "gpt_oss",
            _decoder(24, 64, 8, 2880, 2880, 201088),
            head_dim=64,
            sliding_window=128,
            layer_types=["sliding_attention", "full_attention"] * 12,
            num_local_experts=32,
            num_experts_per_tok=4,
        ),
    ),
    "olmo-3": Refused(
        "layer_types",
        _model("Olmo3ForCausalLM", "olmo3", _BASE, sliding_window=4096, layer_types=_FIVE_OF_SIX[:32]),
    ),
    "all-sliding": Refused(
        "layer_types",
        _model(
            "MistralForCausalLM",
            "mistral",
            _BASE,
            sliding_window=4096,
            layer_types=["sliding_attention"] * 32,
        ),
    ),
    "command-r7b": Refused(
        "sliding_window",
        _model("Cohere2ForCausalLM", "cohere2", _BASE, sliding_window=4096, sliding_window_pattern=4),
    ),
    "mimo-v2-flash": Refused(
        "hybrid_layer_pattern",
        _model("MiMoV2FlashForCausalLM", "mimo_v2_flash", _BASE, hybrid_layer_pattern=[1, 0] * 16),
    ),
    "llama-4-scout": Refused(
        "attention_chunk_size",
        _model(
            "Llama4ForConditionalGeneration",
            "llama4",
            _text(_BASE | {"model_type": "llama4_text", "attention_chunk_size": 8192}),
        ),
    ),
    "llama-4-silent": Refused("model_type", _model("Llama4ForCausalLM", "llama4_text", _BASE)),
}
_REFUSED_RECURRENT = {
    "jamba": Refused("model_type", _model("JambaForCausalLM", "jamba", _BASE, attn_layer_period=8)),
    "mamba-2.8b": Refused(
        "model_type",
        _model("MambaForCausalLM", "mamba", num_hidden_layers=64, hidden_size=2560, state_size=16),
    ),
    "falcon-mamba": Refused(
        "model_type",
        _model(
            "FalconMambaForCausalLM", "falcon_mamba", num_hidden_layers=64, hidden_size=4096, state_size=16
        ),
    ),
    "falcon-h1": Refused("model_type", _model("FalconH1ForCausalLM", "falcon_h1", _BASE, mamba_d_state=256)),
    "zamba2": Refused("model_type", _model("Zamba2ForCausalLM", "zamba2", _BASE)),
    "unnamed-blocks": Refused(
        "layers_block_type", _model("OtherForCausalLM", "other", _BASE, layers_block_type=["mamba"] * 32)
    ),
    "bamba": Refused("model_type", _model("BambaForCausalLM", "bamba", _BASE, attn_layer_indices=[9, 18])),
    "nemotron-h": Refused(
        "model_type", _model("NemotronHForCausalLM", "nemotron_h", _BASE, hybrid_override_pattern="M-M*" * 8)
    ),
    "granite-4.0-h": Refused(
        "layer_types",
        _model(
            "GraniteMoeHybridForCausalLM",
            "granitemoehybrid",
            _BASE,
            layer_types=(["mamba"] * 7 + ["attention"]) * 4,
        ),
    ),
    "qwen3-next": Refused(
        "model_type", _model("Qwen3NextForCausalLM", "qwen3_next", _BASE, full_attention_interval=4)
    ),
    "qwen3-next-typed": Refused(
        "layer_types", _model("Qwen3NextForCausalLM", "qwen3_next", _BASE, layer_types=_THREE_OF_FOUR * 8)
    ),
    "qwen3.5": Refused(
        "layer_types",
        _model(
            "Qwen3_5ForConditionalGeneration",
            "qwen3_5",
            _text(_BASE | {"model_type": "qwen3_5_text", "layer_types": _THREE_OF_FOUR * 8}),
        ),
    ),
    "lfm2": Refused(
        "layer_types",
        _model("Lfm2ForCausalLM", "lfm2", _BASE, conv_L_cache=3, layer_types=["conv", "full_attention"] * 16),
    ),
    "minimax-text-01": Refused(
        "attn_type_list",
        _model("MiniMaxText01ForCausalLM", "minimax_text_01", _BASE, attn_type_list=[0, 0, 0, 1] * 8),
    ),
    "kimi-linear": Refused("model_type", _model("KimiLinearForCausalLM", "kimi_linear", _BASE | _LATENT)),
    "recurrent-gemma": Refused("model_type", _model("RecurrentGemmaForCausalLM", "recurrent_gemma", _BASE)),
    "rwkv-6": Refused("model_type", _model("Rwkv6ForCausalLM", "rwkv6", num_hidden_layers=24)),
    "by-architecture": Refused(
        "architectures", _BASE | {"architectures": ["NemotronHPuzzleForCausalLM"], "model_type": "puzzle"}
    ),
}
_REFUSED_OTHERS = {
    "whisper": Refused(
        "is_encoder_decoder",
        _model("WhisperForConditionalGeneration", "whisper", is_encoder_decoder=True),
    ),
    "llama-3.2-vision": Refused(
        "cross_attention_layers",
        _model(
            "MllamaForConditionalGeneration",
            "mllama",
            _text(_BASE | {"model_type": "mllama_text_model", "cross_attention_layers": [3, 8, 13]}),
        ),
    ),
    "bert": Refused("model_type", _model("BertModel", "bert", num_hidden_layers=12, num_attention_heads=12)),
    "eagle-llama-3": Refused("architectures", _model("EagleLlamaForCausalLM", "llama", _BASE)),
    "eagle3-draft": Refused("architectures", _model("LlamaForCausalLMEagle3", "llama", _BASE)),
    "eagle": Refused("model_type", {"model_type": "eagle", "model": _BASE}),
    "deepseek-mtp": Refused("model_type", _model("DeepSeekMTPModel", "deepseek_mtp", _DEEPSEEK_V3)),
    "speculative-server": Refused(
        "speculative_config",
        _model("LlamaForCausalLM", "llama", _BASE, speculative_config={"method": "eagle3"}),
    ),
    "deepseek-v3.2": Refused(
        "index_topk", _model("DeepseekV32ForCausalLM", "deepseek_v32", _DEEPSEEK_V3, index_topk=2048)
    ),
    "deepseek-v4": Refused("compress_ratios", _DEEPSEEK_V3 | {"compress_ratios": [4, 128]}),
    "minicpm3": Refused("kv_lora_rank", _model("MiniCPM3ForCausalLM", "minicpm3", _BASE | _LATENT)),
    "gemma-3n": Refused(
        "num_kv_shared_layers",
        _model(
            "Gemma3nForConditionalGeneration",
            "gemma3n",
            _text({"model_type": "gemma3n_text", "sliding_window": 512, "num_kv_shared_layers": 15}),
        ),
    ),
    "nemotron-nas": Refused(
        "block_configs",
        _model("DeciLMForCausalLM", "nemotron-nas", _BASE, block_configs=[{"attention": {"no_op": True}}]),
    ),
}
REFUSED: dict[str, Refused] = _REFUSED_WINDOWS | _REFUSED_RECURRENT | _REFUSED_OTHERS
