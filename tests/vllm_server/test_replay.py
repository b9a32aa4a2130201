"""A measured replay on the real server: measured is what the model of the cache says, to the token."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keepwarm._errors import ServerError
from keepwarm.canary.servers.local import LocalServer
from keepwarm.replay.comparing import CompareOptions, compare_runs
from keepwarm.replay.comparing.simulated import Encoding
from keepwarm.replay.measuring import ReplayOptions, Run, replay_trace
from keepwarm.replay.measuring.files import read_run

Servers = Callable[..., LocalServer]

RULES = " ".join(f"Rule {number}: answer the night desk politely." for number in range(40))
TOOL = {
    "type": "function",
    "function": {
        "name": "look_up",
        "description": "Reads the rota of a day.",
        "parameters": {"type": "object", "properties": {"day": {"type": "string"}}, "required": ["day"]},
    },
}


def line(number: int, system: str) -> dict[str, Any]:
    """A turn of one of three conversations; later turns carry the earlier answer."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": system},
        {"role": "user", "content": f"Who is on call in week {number % 3}?"},
    ]
    if number >= 3:
        messages += [
            {"role": "assistant", "content": "Ada, from Monday on."},
            {"role": "user", "content": "And who stands in for her?"},
        ]
    body = {"model": "recorded", "messages": messages, "tools": [TOOL], "max_tokens": 4, "temperature": 1}
    return {"id": f"r{number}", "session_id": f"s{number % 3}", "body": body}


def write(path: Path, systems: list[str]) -> str:
    lines = (json.dumps(line(number, system)) for number, system in enumerate(systems))
    path.write_text("".join(f"{each}\n" for each in lines))
    return str(path)


@pytest.fixture
def traces(tmp_path: Path) -> dict[str, str]:
    """Nine requests, with a counter before the rules and behind them."""
    return {
        "before": write(tmp_path / "before.jsonl", [f"Request {n} of today. {RULES}" for n in range(9)]),
        "after": write(tmp_path / "after.jsonl", [f"{RULES} Request {n} of today." for n in range(9)]),
    }


def replayed(server: LocalServer, trace: str, out: Path, **options: Any) -> Run:
    return replay_trace(
        trace, server.base_url, out, ReplayOptions(label=out.name, tool_choice="none", **options)
    )


@pytest.mark.parametrize("pool_blocks", [128, 48])
def test_measured_is_simulated_to_the_token(
    cpu_server: Servers, tiny_model_dir: Path, traces: dict[str, str], tmp_path: Path, pool_blocks: int
) -> None:
    server = cpu_server(pool_blocks=pool_blocks, max_model_len_tokens=640)
    runs = {name: replayed(server, trace, tmp_path / name) for name, trace in traces.items()}
    for run in runs.values():
        assert (run.requests.ok, run.inconsistencies) == (9, ())
        assert (run.reset.state, run.reset.first_wave_least_cached_tokens) == ("reset", 0)
        assert run.counters["vllm:prefix_cache_hits_total"].rise == run.tokens.cached
        assert run.counters["vllm:prefix_cache_queries_total"].rise == run.tokens.prompt
        assert (run.server.block_size, run.server.capacity_blocks) == (16, pool_blocks - 1)
        assert (run.server.vllm, run.server.device_type) == ("0.32.0", "cpu")
    assert runs["before"].hit_rate < 0.2 < 0.5 < runs["after"].hit_rate
    options = CompareOptions(encoding=Encoding(str(tiny_model_dir), None))
    comparison = compare_runs(tmp_path / "before", tmp_path / "after", options).comparison
    assert comparison.complete
    for simulated in (*comparison.simulated_before, *comparison.simulated_after):
        assert (simulated.residual_points, simulated.equal_requests, simulated.other_lengths) == (0, 9, 0)
    assert any(limit.startswith("TTFT was measured on a CPU") for limit in comparison.boundary.limits)


def test_side_by_side_and_as_recorded(cpu_server: Servers, traces: dict[str, str], tmp_path: Path) -> None:
    server = cpu_server(max_model_len_tokens=640)
    run = replayed(server, traces["after"], tmp_path / "concurrent", concurrency=3)
    assert (run.requests.ok, run.conditions.mode, run.inconsistencies) == (9, "concurrent", ())
    stamped = [json.loads(text) for text in Path(traces["after"]).read_text().splitlines()]
    timed = tmp_path / "timed.jsonl"
    timed.write_text(
        "".join(json.dumps({**each, "timestamp": 5 + n / 10}) + "\n" for n, each in enumerate(stamped))
    )
    run = replayed(server, str(timed), tmp_path / "recorded", recorded_timing=True)
    assert (run.requests.ok, run.conditions.mode) == (9, "recorded")


def test_what_does_not_fit_is_not_sent_and_refusals_are_rows(
    cpu_server: Servers, tmp_path: Path, traces: dict[str, str]
) -> None:
    server = cpu_server(max_model_len_tokens=640)
    trace = write(tmp_path / "long.jsonl", [RULES, f"{RULES} {RULES} {RULES}", RULES])
    run = replayed(server, trace, tmp_path / "long")
    rows = read_run(tmp_path / "long").rows
    assert [row.status for row in rows] == ["ok", "not-sent", "ok"]
    assert "max_model_len is 640" in (rows[1].error or "")
    assert run.inconsistencies == ()
    with pytest.raises(ServerError, match=r"5 requests in a row failed.*tool"):
        replay_trace(traces["before"], server.base_url, tmp_path / "refused", ReplayOptions(label="refused"))
