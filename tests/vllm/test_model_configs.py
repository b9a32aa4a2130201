"""What vLLM's own layers ask for, against what ``cache/models.py`` reads from the same configuration."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from keepwarm.cache.models import ModelConfig, read_model_config
from keepwarm.cache.sizing import DEFAULT_UTILIZATION
from tests.cache.model_configs import REFUSED, SINGLE_GROUP

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")  # torch's own

# vLLM 0.32.0 keeps these in one group of full attention, and they are refused all the same: a latent cache
# that it unpacks; one that it treats as DeepSeek's older; what only a server's options say.
_ONE_GROUP_ALL_THE_SAME = {"minicpm3", "deepseek-v4", "speculative-server"}
# Its CPU build cannot make these: other files, packages, options or configuration classes are needed.
_CANNOT_BE_BUILT = {
    *("bamba", "by-architecture", "deepseek-mtp", "deepseek-v3.2", "eagle", "eagle-llama-3", "eagle3-draft"),
    *("gemma-3-4b", "gemma-3n", "kimi-linear", "lfm2", "llama-3.2-vision", "llama-4-scout", "mimo-v2-flash"),
    *("minimax-text-01", "nemotron-nas", "qwen3.5", "recurrent-gemma", "rwkv-6", "unnamed-blocks", "whisper"),
    *("zamba2",),
}


@pytest.fixture(scope="module")
def layers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    from tests.vllm import layers  # warns on import

    with layers.one_process(tmp_path_factory.mktemp("gloo") / "store"):
        yield layers


@pytest.mark.parametrize("name", SINGLE_GROUP)
def test_a_single_group_takes_the_bytes_we_say(name: str, layers: ModuleType, tmp_path: Path) -> None:
    groups, specs = layers.groups_of(tmp_path, SINGLE_GROUP[name])
    assert layers.is_single_group(groups)
    model = read_model_config(tmp_path)
    assert len(specs) == model.layers
    # A latent cache gets a block size of its own, so bytes are compared by the token.
    assert sum(spec.page_size_bytes / spec.block_size for spec in specs.values()) == model.bytes_per_token()


@pytest.mark.parametrize("name", sorted(REFUSED.keys() - _CANNOT_BE_BUILT))
def test_what_we_refuse_is_no_single_group(name: str, layers: ModuleType, tmp_path: Path) -> None:
    groups, _ = layers.groups_of(tmp_path, REFUSED[name].fields)
    assert layers.is_single_group(groups) == (name in _ONE_GROUP_ALL_THE_SAME)


@pytest.mark.parametrize(
    "dtype",
    [
        *("float16", "bfloat16", "float32", "fp8", "fp8_e4m3", "fp8_e5m2", "fp8_inc"),
        *("fp8_per_token_head", "int8_per_token_head", "int4_per_token_head"),
    ],
)
@pytest.mark.parametrize("head_dim", [64, 80, 128, 256])
def test_bytes_of_each_kv_type(dtype: str, head_dim: int, layers: ModuleType) -> None:
    model = ModelConfig(Path("config.json"), 1, 4, 4, head_dim, head_dim)
    block_bytes = layers.BLOCK_SIZE * model.bytes_per_token(kv_cache_dtype=dtype)
    assert block_bytes == layers.page_bytes(dtype, 4, head_dim)


def test_the_default_utilisation_is_vllms(layers: ModuleType) -> None:
    assert layers.DEFAULT_UTILIZATION == DEFAULT_UTILIZATION
