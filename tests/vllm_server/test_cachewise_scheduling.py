"""A queue order in a real server: no flag but one variable, counted on its /metrics, stock without it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

from bench import agents_on_vllm
from keepwarm.canary.servers.local import LocalServer

SETTINGS = {"KEEPWARM_SCHEDULING": "active-set", "KEEPWARM_REUSE_MODEL": "no-such-model.json"}


def shown(server: LocalServer) -> dict[str, float]:
    """The samples of ``/metrics`` that are keepwarm's."""
    text = httpx2.get(f"{server.base_url}/metrics", timeout=30, trust_env=False).text
    lines = (line for line in text.splitlines() if line.startswith("keepwarm_"))
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def complete(server: LocalServer, model: str, first_token: int, **options: Any) -> int:
    body = {"model": model, "prompt": list(range(first_token, first_token + 200)), "max_tokens": 4}
    answer = httpx2.post(
        f"{server.base_url}/v1/completions", json=body, timeout=120, trust_env=False, **options
    )
    return answer.status_code


def test_one_variable_puts_the_order_in_effect(
    cpu_server: Callable[..., LocalServer], served_model: str
) -> None:
    server = cpu_server(SETTINGS)
    with ThreadPoolExecutor(12) as pool:
        named = [
            pool.submit(complete, server, served_model, 100 * at, headers={"X-Session-ID": f"agent {at % 5}"})
            for at in range(24)
        ]
        assert {answer.result() for answer in named} == {200}
    assert complete(server, served_model, 9_000) == 200
    metrics = shown(server)
    assert metrics['keepwarm_scheduling{mode="active-set"}'] == 1
    assert metrics["keepwarm_admissions_total"] >= 25
    assert metrics["keepwarm_probes_total"] > 0
    assert metrics['keepwarm_sessions{state="known"}'] >= 6
    assert metrics["keepwarm_sessions_by_prefix_total"] >= 1
    assert metrics["keepwarm_put_away"] == 0
    faults = {name: value for name, value in metrics.items() if "_faults_total" in name and value}
    assert faults == {'keepwarm_faults_total{kind="model"}': 1}
    assert 0 < metrics["keepwarm_prefill_seconds_per_token"] < 1
    log = server.log_tail(2_000)
    assert "order in effect: active-set" in log
    assert log.count("fault of kind 'model'") == 1


def test_without_the_variable_nothing_is_touched(
    cpu_server: Callable[..., LocalServer], served_model: str
) -> None:
    server = cpu_server({})
    assert complete(server, served_model, 9_000) == 200
    assert shown(server) == {}
    assert "CacheWise" not in server.log_tail(2_000)


@pytest.mark.long
def test_agents_that_do_not_fit_lose_fewer_blocks(
    cpu_server: Any, smollm2_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts, not times: of times the bench speaks."""
    cpu_server.stop()
    monkeypatch.setattr(agents_on_vllm, "MODEL", smollm2_dir)
    monkeypatch.setattr(agents_on_vllm, "VLLM_PYTHON", Path(sys.executable))
    sides = {name: agents_on_vllm.SIDES[name] for name in ("stock", "active-set")}
    with agents_on_vllm.servers(sides) as players:
        runs = {name: play(1) for name, play in players.items()}
    assert runs["active-set"].evicted_blocks < runs["stock"].evicted_blocks
    assert runs["active-set"].hit_rate > runs["stock"].hit_rate
