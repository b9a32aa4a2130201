"""A real server of a patched source, without the plugin: the hot prefix stays, and /metrics shows why."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import httpx2
import pytest

from keepwarm.canary.servers.local import LocalServer
from keepwarm.vllm.source import install
from keepwarm.vllm.source.anchors import paths
from tests.vllm_source.trees import VERSION_FILE

HOT_TOKENS, PROMPT_TOKENS, FLOOD = 800, 810, 8
OTHER_PLUGINS = {"VLLM_PLUGINS": "keepwarm_test_small_blocks"}  # not keepwarm's


@pytest.fixture(scope="module")
def patched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """vLLM with the policy in its source: links to the installed one, copies of what the installer reads."""
    spec = find_spec("vllm")
    assert spec is not None
    assert spec.origin is not None
    stock = Path(spec.origin).parent.parent
    tree = tmp_path_factory.mktemp("patched")
    link_but(stock, tree, Path("vllm"), {Path(path) for path in (*paths(), VERSION_FILE)})
    install(str(tree))
    return tree


def link_but(stock: Path, tree: Path, folder: Path, copied: set[Path]) -> None:
    """Fill ``folder`` of the tree with links, and with copies of the files that are to be edited."""
    (tree / folder).mkdir()
    for entry in (stock / folder).iterdir():
        path = folder / entry.name
        if path in copied:
            shutil.copy(entry, tree / path)
        elif any(path in file.parents for file in copied):
            link_but(stock, tree, path, copied)
        elif entry.name != "__pycache__":
            (tree / path).symlink_to(entry)


def cached_tokens(server: LocalServer, model: str, prompt: list[int]) -> int:
    body = {"model": model, "prompt": prompt, "max_tokens": 1, "temperature": 0}
    answer = httpx2.post(f"{server.base_url}/v1/completions", json=body, timeout=60, trust_env=False)
    assert answer.status_code == 200, answer.text
    return (answer.json()["usage"]["prompt_tokens_details"] or {}).get("cached_tokens") or 0


def after_the_flood(server: LocalServer, model: str) -> int:
    """Cached tokens of a hot prefix, hit once, after one-use prompts that are larger than the pool."""
    rng = random.Random(4)
    prompts = [[rng.randrange(1_000, 9_000) for _ in range(PROMPT_TOKENS)] for _ in range(FLOOD + 1)]
    hot = prompts.pop()
    assert cached_tokens(server, model, hot) == 0
    assert cached_tokens(server, model, hot) == HOT_TOKENS
    for prompt in prompts:
        assert cached_tokens(server, model, prompt) == 0
    return cached_tokens(server, model, hot)


@pytest.mark.parametrize(("mode", "kept_tokens"), [("lru", 0), ("active", HOT_TOKENS)])
def test_a_patched_server_does_what_its_mode_says(
    cpu_server: Callable[..., LocalServer], served_model: str, patched: Path, mode: str, kept_tokens: int
) -> None:
    environment = {"PYTHONPATH": str(patched), **OTHER_PLUGINS}
    server = cpu_server({"COMPUTECACHE_MODE": mode}, environment=environment)
    assert after_the_flood(server, served_model) == kept_tokens
    metrics = httpx2.get(f"{server.base_url}/metrics", timeout=30, trust_env=False).text
    assert f'computecache_effective_mode{{mode="{mode}"}} 1.0' in metrics
    assert ("computecache_decisions_total 0.0" in metrics) is (mode == "lru")
    assert 'computecache_faults_total{kind="allocate"} 0.0' in metrics
