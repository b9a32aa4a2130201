"""CacheWise's eviction in a real server: whose blocks go, what is counted, and the way back."""

from __future__ import annotations

import re
from collections.abc import Callable

import httpx2
import pytest

from keepwarm.canary.servers.local import LocalServer
from keepwarm.hints import HintClient

TOKEN = "token-of-the-eviction-1f6a90"
CACHEWISE = {
    "KEEPWARM_EVICTION": "cachewise",
    "KEEPWARM_CONTROL_PORT": "0",
    "KEEPWARM_CONTROL_TOKEN": TOKEN,
}
BACK = {**CACHEWISE, "COMPUTECACHE_MODE": "lru"}
LONG_TOKENS = 800  # 50 of 127 blocks


def cached_tokens(server: LocalServer, model: str, first_token: int, session: str) -> int:
    body = {
        "model": model,
        "prompt": list(range(first_token, first_token + LONG_TOKENS)),
        "max_tokens": 1,
        "temperature": 0,
        "session_id": session,
    }
    answer = httpx2.post(f"{server.base_url}/v1/completions", json=body, timeout=60, trust_env=False)
    assert answer.status_code == 200, answer.text
    return int(answer.json()["usage"]["prompt_tokens_details"]["cached_tokens"])


def shown(server: LocalServer) -> dict[str, float]:
    """The samples of ``/metrics`` that are keepwarm's."""
    text = httpx2.get(f"{server.base_url}/metrics", timeout=30, trust_env=False).text
    lines = (line for line in text.splitlines() if line.startswith(("keepwarm_", "computecache_")))
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def agents(server: LocalServer, model: str) -> list[int]:
    """An agent whose tool runs, one that is done, and a third that needs their blocks; who hits what then."""
    cached = [cached_tokens(server, model, 1_000, "waits"), cached_tokens(server, model, 3_000, "is done")]
    found = re.search(r"hints are taken at (http://127\.0\.0\.1:\d+)/", server.log_tail(2_000))
    if found is not None:
        with HintClient(found[1], TOKEN) as client:
            client.tool("waits", "bash", '{"command": "ls"}')
            client.finished("is done")
        assert client.failed == 0
    cached.append(cached_tokens(server, model, 5_000, "comes"))
    return [*cached, cached_tokens(server, model, 1_000, "waits")]


def test_the_session_that_is_done_goes_first(
    cpu_server: Callable[..., LocalServer], served_model: str
) -> None:
    server = cpu_server(CACHEWISE)
    assert agents(server, served_model) == [0, 0, 0, LONG_TOKENS - 16]
    metrics = shown(server)
    assert metrics['keepwarm_eviction_effective{eviction="cachewise"}'] == 1
    assert metrics["keepwarm_eviction_reordered_decisions_total"] >= 1
    assert metrics["keepwarm_eviction_moved_blocks_total"] >= 20
    assert metrics["keepwarm_eviction_tripped"] == 0
    assert not [name for name, value in metrics.items() if "_faults_total" in name and value]
    assert not [name for name in metrics if name.startswith("computecache_")]
    assert "CacheWise: eviction=cachewise " in server.log_tail(2_000)


@pytest.mark.parametrize("settings", [BACK, {"KEEPWARM_EVICTION": "lru"}], ids=["back", "lru"])
def test_one_setting_leads_back_to_stock(
    cpu_server: Callable[..., LocalServer], served_model: str, settings: dict[str, str]
) -> None:
    """In stock order the one that waits was used longest ago, and loses its blocks."""
    server = cpu_server(settings)
    *cold, again = agents(server, served_model)
    assert cold == [0, 0, 0]
    assert again < LONG_TOKENS - 20 * 16
    metrics = shown(server)
    assert metrics['computecache_effective_mode{mode="lru"}'] == 1
    assert metrics["computecache_decisions_total"] == 0
    assert not [name for name in metrics if name.startswith("keepwarm_eviction_")]
