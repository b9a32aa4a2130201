from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwarm._errors import InputError
from keepwarm.cache.models import ModelConfig, read_model_config
from tests.cache.model_configs import REFUSED, SINGLE_GROUP

# Bytes a token that vLLM 0.32.0's own layers ask for, 16 bits, one GPU: tests/vllm/test_model_configs.py.
VLLM_BYTES_PER_TOKEN = {
    "llama-3.1-8b": 131072,
    "llama-3.1-70b": 327680,
    "smollm2-135m": 23040,
    "qwen2.5-1.5b": 28672,
    "qwen2.5-7b": 57344,
    "qwen3-8b": 147456,
    "qwen3-30b-a3b": 98304,
    "mistral-7b-v0.3": 131072,
    "mistral-nemo": 163840,
    "mixtral-8x7b": 131072,
    "deepseek-v3": 70272,
    "deepseek-v2-lite": 31104,
    "phi-4": 204800,
    "glm-4-9b": 40960,
    "gemma-7b": 458752,
    "falcon-7b": 8192,
    "falcon-40b": 122880,
    "gpt2": 36864,
    "granite-4.0-micro": 81920,
}
LLAMA = SINGLE_GROUP["llama-3.1-8b"]
Config = Callable[[dict[str, Any]], Path]


@pytest.fixture
def config(tmp_path: Path) -> Config:
    def write(fields: dict[str, Any]) -> Path:
        file = tmp_path / "config.json"
        file.write_text(json.dumps(fields))
        return file

    return write


def shape(kv_heads: int = 8, *, attention_heads: int = 64, latent: bool = False) -> ModelConfig:
    return ModelConfig(Path("config.json"), 4, attention_heads, kv_heads, 64, 0 if latent else 64)


@pytest.mark.parametrize("name", SINGLE_GROUP)
def test_bytes_per_token_are_those_of_vllms_own_layers(name: str, config: Config) -> None:
    assert read_model_config(config(SINGLE_GROUP[name])).bytes_per_token() == VLLM_BYTES_PER_TOKEN[name]


def test_every_single_group_model_has_a_figure() -> None:
    assert VLLM_BYTES_PER_TOKEN.keys() == SINGLE_GROUP.keys()


@pytest.mark.parametrize("name", REFUSED)
def test_more_than_single_group_full_attention_is_refused(name: str, config: Config) -> None:
    refused = REFUSED[name]
    file = config(refused.fields)
    with pytest.raises(InputError) as error:
        read_model_config(file)
    message = str(error.value)
    assert message.startswith(f"{str(file)!r}: {refused.field!r} is ")
    assert "only single-group full attention is simulated: " in message
    assert "\n" not in message
    assert len(message) < 400


def test_a_folder_stands_for_its_config(config: Config) -> None:
    file = config(LLAMA)
    assert read_model_config(file.parent) == read_model_config(file)


def test_the_text_part_of_a_multimodal_model_counts(config: Config) -> None:
    outer = {"architectures": ["LlavaForConditionalGeneration"], "model_type": "llava", "hidden_size": 1}
    nested = {"thinker_config": {"text_config": LLAMA}, **outer}
    for fields in ({"text_config": LLAMA, **outer}, {"llm_config": LLAMA, **outer}, nested):
        assert read_model_config(config(fields)).bytes_per_token() == VLLM_BYTES_PER_TOKEN["llama-3.1-8b"]


def test_the_longest_prompt_comes_from_the_configuration(config: Config) -> None:
    assert read_model_config(config(SINGLE_GROUP["gpt2"])).max_model_len == 1024
    assert read_model_config(config(SINGLE_GROUP["falcon-7b"])).max_model_len is None


@pytest.mark.parametrize(
    ("off", "fields"),
    [
        ("null", {"sliding_window": None}),
        ("zero", {"sliding_window": 0}),
        ("not used", {"sliding_window": 4096, "use_sliding_window": False}),
        ("all layers full", {"sliding_window": 4096, "layer_types": ["full_attention"] * 32}),
    ],
)
def test_a_window_that_is_not_in_force_is_none(off: str, fields: dict[str, Any], config: Config) -> None:
    assert read_model_config(config(LLAMA | {"model_type": "mistral"} | fields)), off


def test_qwen_slides_only_in_the_layers_it_says(config: Config) -> None:
    sliding = SINGLE_GROUP["qwen2.5-7b"] | {"use_sliding_window": True, "max_window_layers": 27}
    with pytest.raises(InputError, match="'sliding_window' is 131072"):
        read_model_config(config(sliding))
    assert read_model_config(config(sliding | {"max_window_layers": 28}))
    assert read_model_config(config({**sliding, "use_sliding_window": None}))  # off unless it says so


@pytest.mark.parametrize(
    ("quantization", "dtype"),
    [
        (None, "auto"),
        ({"quant_method": "fp8"}, "auto"),
        ({"quant_method": "compressed-tensors", "kv_cache_scheme": {"num_bits": 8, "type": "float"}}, "fp8"),
        ({"quant_method": "compressed-tensors", "kv_cache_scheme": None}, "auto"),
        ({"quant_method": "modelopt", "kv_cache_quant_algo": "FP8"}, "fp8_e4m3"),
        ({"producer": {"name": "modelopt"}, "quantization": {"kv_cache_quant_algo": "NVFP4"}}, "nvfp4"),
        ({"quant_method": "modelopt", "kv_cache_scheme": {"num_bits": 8, "type": "float"}}, "fp8_e4m3"),
        ({"quant_method": "modelopt", "kv_cache_quant_algo": "INT3"}, "auto"),
    ],
)
def test_what_auto_stores_is_the_checkpoints_choice(
    quantization: dict[str, Any] | None, dtype: str, config: Config
) -> None:
    model = read_model_config(config(LLAMA | {"quantization_config": quantization}))
    assert model.kv_cache_dtype == dtype
    assert model.bytes_per_token() == model.bytes_per_token(kv_cache_dtype=dtype)


@pytest.mark.parametrize(
    ("dtype", "bytes_per_head"),  # keys and values of 64 each, as vLLM's FullAttentionSpec has them
    [
        ("auto", 256),
        ("float16", 256),
        ("bfloat16", 256),
        ("float32", 512),
        ("fp8", 128),
        ("fp8_e5m2", 128),
        ("fp8_per_token_head", 136),
        ("int8_per_token_head", 136),
        ("int4_per_token_head", 72),
        ("nvfp4", 72),
    ],
)
def test_bytes_of_each_kv_type(dtype: str, bytes_per_head: int) -> None:
    assert shape(1, attention_heads=1).bytes_per_token(kv_cache_dtype=dtype) == 4 * bytes_per_head


@pytest.mark.parametrize("model", [shape(), shape(latent=True)])
def test_an_unknown_kv_type_is_refused(model: ModelConfig) -> None:
    with pytest.raises(InputError, match="KV cache type 'int2' is not"):
        model.bytes_per_token(kv_cache_dtype="int2")


def test_a_latent_cache_has_no_scales_per_head() -> None:
    with pytest.raises(InputError, match="'int8_per_token_head' is not one for a latent cache"):
        shape(latent=True).bytes_per_token(kv_cache_dtype="int8_per_token_head")


@given(
    kv_heads=st.sampled_from([1, 2, 4, 8, 16, 32, 64]), tensor_parallel=st.sampled_from([1, 2, 4, 8, 16, 64])
)
def test_heads_are_shared_out_evenly_or_copied(kv_heads: int, tensor_parallel: int) -> None:
    one, each = shape(kv_heads), shape(kv_heads).bytes_per_token(tensor_parallel)
    copies = max(1, tensor_parallel // kv_heads)
    assert each * tensor_parallel == one.bytes_per_token() * copies


@given(tensor_parallel=st.sampled_from([1, 2, 8, 64]))
def test_every_gpu_holds_a_latent_cache_whole(tensor_parallel: int) -> None:
    model = shape(latent=True)
    assert model.bytes_per_token(tensor_parallel) == model.bytes_per_token()


@pytest.mark.parametrize("tensor_parallel", [0, 3, -1])
def test_heads_that_cannot_be_split_are_refused(tensor_parallel: int) -> None:
    with pytest.raises(InputError, match="64 attention heads cannot be split"):
        shape().bytes_per_token(tensor_parallel)
    with pytest.raises(InputError, match="10 KV heads cannot be split over 4 GPUs"):
        shape(10, attention_heads=40).bytes_per_token(4)


def test_a_larger_match_unit_alone_is_not_refused(config: Config) -> None:
    plain = read_model_config(config(LLAMA))
    assert plain.match_unit_tokens is None
    assert plain.hit_unit_tokens(16) == 16
    coarse = read_model_config(config(LLAMA | {"prefix_match_unit": 64}))
    assert coarse.match_unit_tokens == coarse.hit_unit_tokens(16) == coarse.hit_unit_tokens(64) == 64
    shared_out = read_model_config(config(LLAMA | {"decode_context_parallel_size": 4}))
    assert shared_out.hit_unit_tokens(16) == 64


@pytest.mark.parametrize("block_size", [48, 128, 0])
def test_a_match_unit_is_a_whole_number_of_blocks(block_size: int, config: Config) -> None:
    model = read_model_config(config(LLAMA | {"prefix_match_unit": 64}))
    with pytest.raises(InputError, match="hits land on multiples of 64 tokens"):
        model.hit_unit_tokens(block_size)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ('{"text_config":' * 100_000, "nests too deep"),
        ("[]", "is not the configuration of a model"),
        ('{"a": 1}', "has neither 'model_type' nor 'architectures'"),
        ('{"model_type": "llama"}', "no field 'num_attention_heads'"),
        ('{"model_type": "llama", "num_attention_heads": 8}', "no field 'hidden_size'"),
        ('{"model_type": "llama", "num_attention_heads": "8"}', "'num_attention_heads' is '8'"),
        ('{"model_type": "llama", "num_attention_heads": true}', "'num_attention_heads' is True"),
        ('{"model_type": "llama", "num_attention_heads": -8}', "'num_attention_heads' is -8"),
        ('{"model_type": 3, "architectures": [4], "num_attention_heads": 2}', "no field 'hidden_size'"),
    ],
)
def test_what_is_no_model_configuration_is_told_so(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text(text)
    with pytest.raises(InputError) as error:
        read_model_config(file)
    assert message in str(error.value)
    assert str(file) in str(error.value)


def test_a_missing_file_is_told_so(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "other.json"):
        with pytest.raises(InputError, match="cannot be read"):
            read_model_config(path)
