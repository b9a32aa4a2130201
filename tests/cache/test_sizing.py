from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwarm._errors import InputError
from keepwarm.cache.fields import ConfigFields, read_fields
from keepwarm.cache.gpus import GPU_MEMORY_GIB, gpu_memory_gib
from keepwarm.cache.models import ModelConfig, read_model_config
from keepwarm.cache.sizing import (
    SizingOptions,
    block_bytes,
    blocks_to_gib,
    overhead_gib,
    size_cache,
    usable_blocks,
)
from keepwarm.cache.weights import parameter_count, weigh
from tests.cache.model_configs import SINGLE_GROUP

GIB = 1 << 30
LLAMA = SINGLE_GROUP["llama-3.1-8b"]
Config = Callable[[dict[str, Any]], Path]


@pytest.fixture
def config(tmp_path: Path) -> Config:
    def write(fields: dict[str, Any]) -> Path:
        (tmp_path / "config.json").write_text(json.dumps(fields))
        return tmp_path

    return write


def fields_of(fields: dict[str, Any]) -> ConfigFields:
    return ConfigFields(Path("nowhere/config.json"), fields, fields)


# Parameters as the models' cards and checkpoints count them.
@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("llama-3.1-8b", 8_030_261_248),
        ("llama-3.1-70b", 70_553_706_496),
        ("smollm2-135m", 134_515_008),
        ("qwen2.5-1.5b", 1_543_714_304),
        ("qwen2.5-7b", 7_615_616_512),
        ("qwen3-8b", 8_190_735_360),
        ("qwen3-30b-a3b", 30_532_122_624),
        ("mistral-7b-v0.3", 7_248_023_552),
        ("mixtral-8x7b", 46_702_792_704),
        ("deepseek-v3", 671_026_419_200),
        ("deepseek-v2-lite", 15_706_484_224),
        ("phi-4", 14_659_507_200),
        ("glm-4-9b", 9_400_279_040),
    ],
)
def test_parameters_are_counted_to_a_tenth_of_a_percent(name: str, parameters: int) -> None:
    assert parameter_count(fields_of(SINGLE_GROUP[name])) == pytest.approx(parameters, rel=1e-3)


@pytest.mark.parametrize(
    ("quantization", "bits"),
    [(None, 16), ({"quant_method": "fp8"}, 8), ({"quant_method": "awq", "bits": 4}, 4)],
)
def test_estimated_weights_count_bits(quantization: dict[str, Any] | None, bits: int) -> None:
    fields = fields_of(LLAMA | {"quantization_config": quantization})
    weights = weigh(fields)
    assert weights.total_bytes == parameter_count(fields) * bits // 8
    assert weights.source == f"an estimate, 8.03 billion parameters at {bits} bits"


def test_float32_weights_take_twice_as_much() -> None:
    assert weigh(fields_of(LLAMA | {"torch_dtype": "float32"})).total_bytes == 4 * parameter_count(
        fields_of(LLAMA)
    )


def test_weights_are_weighed_where_their_files_lie(config: Config) -> None:
    folder = config(LLAMA)
    (folder / "model.safetensors").write_bytes(b"x" * 1000)
    assert weigh(read_fields(folder)) == (1000, "model.safetensors")
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {"total_size": 16_060_522_496}, "weight_map": {"a": "b"}}))
    assert weigh(read_fields(folder)) == (16_060_522_496, index.name)


@pytest.mark.parametrize("text", ["{", "{}", '{"metadata": {}}', '{"metadata": {"total_size": "big"}}'])
def test_an_index_without_a_size_is_told_so(text: str, config: Config) -> None:
    folder = config(LLAMA)
    (folder / "model.safetensors.index.json").write_text(text)
    with pytest.raises(InputError, match=r"model\.safetensors\.index\.json.*--weights-gib"):
        weigh(read_fields(folder))


@pytest.mark.parametrize(
    "fields",
    [
        SINGLE_GROUP["gpt2"],
        SINGLE_GROUP["falcon-7b"],
        LLAMA | {"quantization_config": {"quant_method": "bitsandbytes"}},
    ],
)
def test_weights_that_cannot_be_estimated_must_be_given(fields: dict[str, Any], config: Config) -> None:
    folder = config(fields)
    with pytest.raises(InputError, match="--weights-gib"):
        size_cache(folder, SizingOptions(), gpu="H100")
    assert size_cache(folder, SizingOptions(weights_gib=1.5), gpu="H100").weights_source == "given"


@pytest.mark.parametrize(
    "name",
    ["h100", "H100-80GB", "NVIDIA H100 80GB HBM3", "h100_sxm5", "NVIDIA H100 PCIe"],
)
def test_gpu_names_are_taken_as_people_write_them(name: str) -> None:
    assert gpu_memory_gib(name) == GPU_MEMORY_GIB["H100"]


@pytest.mark.parametrize(
    ("written", "known"),
    [
        ("NVIDIA A100-SXM4-80GB", "A100-80"),
        ("a100 40gb", "A100-40"),
        ("Tesla T4", "T4"),
        ("NVIDIA L4", "L4"),
        ("l40s", "L40S"),
        ("NVIDIA A10G", "A10G"),
        ("rtx4090", "RTX 4090"),
        ("NVIDIA GeForce RTX 4090", "RTX 4090"),
        ("NVIDIA H200", "H200"),
        ("b200", "B200"),
        ("AMD Instinct MI300X", "MI300X"),
        ("Tesla V100-SXM2-16GB", "V100-16"),
    ],
)
def test_a_gpu_by_its_makers_name(written: str, known: str) -> None:
    assert gpu_memory_gib(written) == GPU_MEMORY_GIB[known]


@pytest.mark.parametrize("name", GPU_MEMORY_GIB)
def test_every_listed_name_is_known(name: str) -> None:
    assert gpu_memory_gib(name.lower().replace(" ", "-")) == GPU_MEMORY_GIB[name]


@pytest.mark.parametrize("name", ["H900", "", "gpu", "A1000"])
def test_an_unknown_gpu_gets_the_list(name: str) -> None:
    with pytest.raises(InputError) as error:
        gpu_memory_gib(name)
    assert ", ".join(GPU_MEMORY_GIB) in str(error.value)
    assert "\n" not in str(error.value)


def test_a_name_of_two_sizes_is_asked_back() -> None:
    with pytest.raises(InputError, match="give A100-40 or A100-80"):
        gpu_memory_gib("A100")


@pytest.mark.parametrize(
    ("weights_gib", "kv_gib", "tokens", "fields"),
    # From logs of real servers: what was left for KV, and the size of the cache it made.
    [
        (14.99, 19.92, 163_168, LLAMA),
        (2.89, 0.56, 20_992, SINGLE_GROUP["qwen2.5-1.5b"]),
    ],
)
def test_blocks_are_those_of_recorded_servers(
    weights_gib: float, kv_gib: float, tokens: int, fields: dict[str, Any], config: Config
) -> None:
    options = SizingOptions(gpu_memory_utilization=1, weights_gib=weights_gib, overhead_gib=0)
    sizing = size_cache(config(fields), options, memory_gib=weights_gib + kv_gib)
    assert sizing.blocks * sizing.block_size == pytest.approx(
        tokens, rel=0.005 / kv_gib
    )  # the log's rounding
    assert sizing.usable_blocks == sizing.blocks - 1


def test_the_parts_of_an_estimate_are_all_told(config: Config) -> None:
    sizing = size_cache(config(LLAMA), SizingOptions(overhead_gib=2.0), gpu="H100")
    assert sizing.gpu_memory_utilization == 0.92
    kv_gib = 79.18 * 0.92 - sizing.weights_gib - 2.0
    assert sizing.kv_gib == pytest.approx(kv_gib)
    assert sizing.bytes_per_block == 16 * 131072
    assert sizing.blocks == math.floor(kv_gib * GIB / sizing.bytes_per_block)
    assert sizing.line() == (
        "H100 (estimate): 79.18 GiB × 0.92 − weights 14.96 (an estimate, 8.03 billion parameters at 16 bits) "
        "− overhead 2.00 = 55.89 GiB of KV → 28613 usable blocks of 16 tokens, 2048 KiB each"
    )


def test_a_cache_shorter_than_the_model_says_so(config: Config) -> None:
    line = size_cache(config(LLAMA | {"max_position_embeddings": 131072}), SizingOptions(), gpu="L4").line()
    assert line.endswith("a server needs --max-model-len 31872 or less, the model's is 131072")


def test_several_gpus_share_weights_and_heads(config: Config) -> None:
    folder = config(SINGLE_GROUP["llama-3.1-70b"])
    one = SizingOptions(tensor_parallel=1, overhead_gib=1.0)
    with pytest.raises(
        InputError, match=r"no memory left for KV: 79\.18 GiB .* larger GPU or --tensor-parallel"
    ):
        size_cache(folder, one, gpu="H100")
    four = size_cache(folder, one._replace(tensor_parallel=4), gpu="H100")
    assert four.weights_gib == pytest.approx(weigh(read_fields(folder)).gib / 4)
    assert four.bytes_per_block == 16 * 327680 // 4
    assert four.line().startswith("4 × H100 (estimate): ")


def test_memory_given_stands_in_for_the_gpus(config: Config) -> None:
    folder = config(LLAMA)
    named = size_cache(folder, SizingOptions(), gpu="L4")
    given = size_cache(folder, SizingOptions(), memory_gib=22.03)
    assert msgspec.structs.replace(given, gpu="L4") == named
    assert size_cache(folder, SizingOptions(), gpu="unheard of", memory_gib=22.03).kv_gib == named.kv_gib
    with pytest.raises(InputError, match="no GPU given"):
        size_cache(folder, SizingOptions())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (SizingOptions(block_size=0), "block size 0"),
        (SizingOptions(gpu_memory_utilization=0), "utilisation 0"),
        (SizingOptions(gpu_memory_utilization=1.2), "utilisation 1.2"),
        (SizingOptions(weights_gib=-1), "weights of -1 GiB"),
        (SizingOptions(overhead_gib=math.nan), "overhead of nan GiB"),
        (SizingOptions(tensor_parallel=5), "cannot be split over 5 GPUs"),
        (SizingOptions(kv_cache_dtype="int2"), "'int2'"),
    ],
)
def test_options_out_of_range_are_told_so(options: SizingOptions, message: str, config: Config) -> None:
    with pytest.raises(InputError) as error:
        size_cache(config(LLAMA), options, gpu="H100")
    assert message in str(error.value)
    with pytest.raises(InputError, match="GPU memory of inf GiB"):
        size_cache(config(LLAMA), SizingOptions(), memory_gib=math.inf)


def test_the_allowance_grows_with_the_default_batch() -> None:
    fields = fields_of(LLAMA)
    small, a100, large = (
        overhead_gib(fields, 22.0),
        overhead_gib(fields, 79.0, gpu="A100-80"),
        overhead_gib(fields, 79.0, gpu="H100"),
    )
    assert small == a100 < large < overhead_gib(fields, 178.0, gpu="B200")
    assert overhead_gib(fields, 79.0, tensor_parallel=4) < large
    # Llama 3 8B on an H100 was measured at 3.05 GiB beside its weights.
    assert large == pytest.approx(3.05, abs=0.5)


@given(
    capacity_blocks=st.integers(1, 10**7),
    block_size=st.sampled_from([8, 16, 32, 64, 128]),
    context_parallel=st.sampled_from([1, 2, 4]),
)
def test_blocks_to_memory_and_back(capacity_blocks: int, block_size: int, context_parallel: int) -> None:
    model = ModelConfig(Path("c"), 3, 8, 8, 64, 64, context_parallel=context_parallel)
    options = SizingOptions(block_size=block_size)
    size = block_bytes(model, options)
    gib = blocks_to_gib(capacity_blocks, model, options)
    held = usable_blocks(round(gib * GIB), size, model)
    assert capacity_blocks <= held < capacity_blocks + context_parallel
    assert usable_blocks(round(gib * GIB) - 1, size, model) < capacity_blocks


@given(kv_bytes=st.integers(0, 1 << 50), bytes_per_block=st.integers(1, 1 << 30))
def test_the_null_block_takes_one(kv_bytes: int, bytes_per_block: int) -> None:
    model = ModelConfig(Path("c"), 1, 1, 1, 64, 64)
    blocks = usable_blocks(kv_bytes, bytes_per_block, model)
    assert blocks == max(0, kv_bytes // bytes_per_block - 1)
    assert blocks == 0 or (blocks + 1) * bytes_per_block <= kv_bytes < (blocks + 2) * bytes_per_block


@given(
    memory_gib=st.floats(20, 300),
    utilization=st.floats(0.5, 1),
    weights_gib=st.floats(0.1, 5),
    overhead=st.floats(0, 2),
)
def test_what_is_shared_out_never_exceeds_the_gpu(
    llama_folder: Path, memory_gib: float, utilization: float, weights_gib: float, overhead: float
) -> None:
    options = SizingOptions(
        gpu_memory_utilization=utilization, weights_gib=weights_gib, overhead_gib=overhead
    )
    sizing = size_cache(llama_folder, options, memory_gib=memory_gib)
    used = sizing.blocks * sizing.bytes_per_block / GIB + weights_gib + overhead
    assert used <= memory_gib * utilization * (1 + 1e-9)
    assert used + sizing.bytes_per_block / GIB > memory_gib * utilization * (1 - 1e-9)
    model = read_model_config(llama_folder)
    assert blocks_to_gib(sizing.usable_blocks, model, options) <= sizing.kv_gib


@pytest.fixture(scope="module")
def llama_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("llama")
    (folder / "config.json").write_text(json.dumps(LLAMA))
    return folder
