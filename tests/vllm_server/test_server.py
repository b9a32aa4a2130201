"""The real server, as the canary starts it on CPUs: what it has and counts, and that none of it is left."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families

from keepwarm._errors import ServerError
from keepwarm.canary.servers.local import LocalServer, cpu_options

LRU = {"COMPUTECACHE_MODE": "lru"}
BLOCK_SIZE_TOKENS = 16


def _post(server: LocalServer, path: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = httpx2.post(f"{server.base_url}{path}", json=body, timeout=60, trust_env=False)
    assert answer.status_code == 200, answer.text
    return answer.json()


def _metrics(server: LocalServer) -> str:
    answer = httpx2.get(f"{server.base_url}/metrics", timeout=30, trust_env=False)
    assert answer.status_code == 200
    return answer.text


def _processes_of(group: int) -> dict[int, bytes]:
    """Environment of each process of the group that is no zombie, which has none any more."""
    found = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal():
            continue
        try:
            state, _parent, process_group = (folder / "stat").read_text().rpartition(")")[2].split()[:3]
            if int(process_group) == group and state != "Z":
                found[int(folder.name)] = (folder / "environ").read_bytes()
        except OSError:  # it ended while we looked
            continue
    return found


def test_vllm_sees_keepwarms_plugin_in_an_editable_install() -> None:
    names = {entry_point.name for entry_point in entry_points(group="vllm.general_plugins")}
    assert {"keepwarm", "keepwarm_test_small_blocks"} <= names


def test_pool_is_128_blocks_of_16_tokens(cpu_server: Callable[..., LocalServer]) -> None:
    families = text_string_to_metric_families(_metrics(cpu_server(LRU)))
    (config,) = (
        sample.labels
        for family in families
        for sample in family.samples
        if sample.name == "vllm:cache_config_info"
    )
    assert (config["block_size"], config["num_gpu_blocks"]) == ("16", "128")


def test_a_repeated_chat_is_cached_up_to_its_last_full_block(
    cpu_server: Callable[..., LocalServer], served_model: str
) -> None:
    server = cpu_server(LRU)
    messages = [{"role": "user", "content": "Which page describes the database of the night desk? " * 30}]
    body = {"model": served_model, "messages": messages, "max_tokens": 4, "temperature": 0}
    first, second = (_post(server, "/v1/chat/completions", body) for _ in range(2))
    prompt_tokens = first["usage"]["prompt_tokens"]
    assert prompt_tokens > 10 * BLOCK_SIZE_TOKENS
    assert first["usage"]["completion_tokens"] == 4
    assert first["usage"]["prompt_tokens_details"]["cached_tokens"] == 0
    assert second["usage"]["prompt_tokens_details"]["cached_tokens"] == (
        (prompt_tokens - 1) // BLOCK_SIZE_TOKENS * BLOCK_SIZE_TOKENS
    )
    assert second["choices"][0]["message"] == first["choices"][0]["message"]


def test_a_reset_empties_the_prefix_cache(cpu_server: Callable[..., LocalServer], served_model: str) -> None:
    body = {"model": served_model, "prompt": list(range(1000, 1100)), "max_tokens": 1}
    cached = []
    for _ in range(2):
        server = cpu_server(LRU)  # the same one, reset
        for _ in range(2):
            usage = _post(server, "/v1/completions", body)["usage"]
            cached.append(usage["prompt_tokens_details"]["cached_tokens"])
    assert cached == [0, 96, 0, 96]


def test_a_restart_has_the_new_settings_and_a_stop_leaves_no_process(
    cpu_server: Callable[..., LocalServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPUTECACHE_SCAN_LIMIT", "7")
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", "/nowhere")
    server = cpu_server(LRU)
    first_pid, base_url = server.pid, server.base_url
    assert first_pid is not None
    server.start({"COMPUTECACHE_MODE": "lru", "COMPUTECACHE_LOG_EVERY": "9"})
    pid = server.pid
    assert pid is not None
    assert server.base_url == base_url
    assert not _processes_of(first_pid)
    processes = _processes_of(pid)
    assert len(processes) > 1  # the API server and the engine
    # A process that gave itself a title has written it over its environment.
    readable = [environment for environment in processes.values() if b"\0PATH=" in environment]
    assert readable
    for environment in readable:
        assert b"\0COMPUTECACHE_LOG_EVERY=9\0" in environment
        assert b"COMPUTECACHE_SCAN_LIMIT" not in environment
        assert b"PROMETHEUS_MULTIPROC_DIR" not in environment
    server.stop()
    assert not _processes_of(pid)
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(f"{base_url}/health", trust_env=False)


def test_without_the_tests_plugin_a_cpu_refuses_blocks_of_16(tiny_model_dir: Path, tmp_path: Path) -> None:
    options = cpu_options(
        str(tiny_model_dir), arguments=("--load-format", "dummy"), environment={"VLLM_PLUGINS": "keepwarm"}
    )
    server = LocalServer(options, tmp_path)
    with pytest.raises(ServerError, match="it ended with exit code 1"):
        server.start(LRU)
    assert "No common block size for 16" in (tmp_path / "server-1.log").read_text()
    assert server.pid is None
