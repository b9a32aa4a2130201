from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cache.traces import write_lines
from tests.cli.conftest import Keepwarm
from tests.cli.test_commands import one_line

KEYS = [
    "balancer", "replicas", "scheduling", "eviction", "sessions_per_replica", "seed", "overall",
    "served_tokens", "queue_wait_s", "hot_spot_share", "moves", "moved_sessions", "gain", "gain_kept",
    "per_replica",
]  # fmt: skip
SMALL = ("--profile", "cpu-smollm2", "--capacity-tokens", "320", "--sessions", "2")
ALL = "round-robin,least-loaded,sticky,longest-prefix,prefix-bounded"


@pytest.fixture
def trace(tmp_path: Path) -> str:
    """Six sessions of three requests of up to 12 blocks of 16 tokens, each at its own pace."""
    lines = []
    for number in range(6):
        requests = [
            {
                "t": 10.0 * step,
                "type": "n",
                "in": 16 * (6 + 3 * step),
                "out": 5,
                "hash_ids": list(range(1, 7 + 3 * step)),
                "input_types": ["tool_result" if step else "text"],
                "think_time": (2.0 + 0.3 * number) * step,
                "api_time": 1.0,
            }
            for step in range(3)
        ]
        lines.append({"id": f"s{number}", "block_size": 16, "hash_id_scope": "local", "requests": requests})
    path = tmp_path / "six.jsonl"
    write_lines(path, lines)
    return str(path)


def test_the_document_keeps_its_contract(keepwarm_cli: Keepwarm, trace: str) -> None:
    ran = keepwarm_cli(
        "simulate", "fleet", trace, *SMALL, "--json",
        "--replicas", "1,3", "--scheduling", "active-set", "--seed", "0,3",
    )  # fmt: skip
    assert ran.exit_code == 0, ran.output
    document = json.loads(ran.stdout)
    assert list(document) == [
        "schema", "input", "server", "conditions", "load_bound", "rows", "compared_with",
    ]  # fmt: skip
    assert document["schema"] == "keepwarm.fleet-sim/1"
    assert document["input"]["trace_sha256"] == hashlib.sha256(Path(trace).read_bytes()).hexdigest()
    assert document["load_bound"] == 1.25
    rows = document["rows"]
    assert [(row["balancer"], row["replicas"], row["seed"]) for row in rows] == [
        (name, count, seed) for name in ALL.split(",") for count in (1, 3) for seed in (0, 3)
    ]
    for row in (*rows, *document["compared_with"]):
        assert list(row) == KEYS
        assert row["overall"]["requests"] == 3 * 2 * row["replicas"]
        assert len(row["per_replica"]) == row["replicas"]
        assert sum(one["requests"] for one in row["per_replica"]) == row["overall"]["requests"]
        evicted = sum(one["evicted_blocks"] for one in row["per_replica"])
        assert evicted == row["overall"]["evicted_blocks"]
    assert {row["scheduling"] for row in document["compared_with"]} == {"fcfs"}


def test_one_server_is_that_of_simulate_serving(keepwarm_cli: Keepwarm, trace: str) -> None:
    fleet, serving = (
        json.loads(keepwarm_cli("simulate", *words, *SMALL, "--json").stdout)
        for words in (("fleet", trace, "--replicas", "1"), ("serving", trace))
    )
    assert [row["overall"] for row in fleet["rows"]] == 5 * serving["rows"]


def test_the_tables_say_what_they_show(keepwarm_cli: Keepwarm, trace: str) -> None:
    ran = keepwarm_cli(
        "simulate", "fleet", trace, *SMALL, "--replicas", "3", "--scheduling", "cachewise,fcfs"
    )
    assert ran.exit_code == 0, ran.output
    assert "prefix-bounded goes up to 1.25 times the mean load" in ran.stdout
    assert "eviction lru, N 2, seed 0" in ran.stdout
    assert ran.stdout.count("simulated") == 3
    assert ran.stdout.count("longest-prefix") == 4
    assert "longest-prefix 3 cachewise" in ran.stdout


def test_the_same_bytes_whatever_the_hash_seed(trace: str) -> None:
    command = [
        sys.executable, "-m", "keepwarm", "simulate", "fleet", trace, *SMALL, "--replicas", "2,3", "--json",
        "--scheduling", "fcfs,active-set", "--eviction", "lru,oracle",
    ]  # fmt: skip
    outputs = [
        subprocess.run(command, check=True, capture_output=True, env={"PYTHONHASHSEED": seed}).stdout
        for seed in ("1", "2")
    ]
    assert outputs[0] == outputs[1]
    assert outputs[0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--balancer", "dice"], "no balancer 'dice'; there are round-robin"),
        (["--balancer", "sticky,,"], "not a list of names"),
        (["--replicas", "0"], "positive whole numbers"),
        (["--replicas", "2000"], "replicas is 2000; give 1 to 1024"),
        (["--load-bound", "0.9"], "not a factor of the mean load"),
        (["--load-bound", "nan"], "not a factor of the mean load"),
        (["--load-bound", "0"], "not a factor of the mean load"),
        (["--replicas", "99999999999999999999999999"], "positive whole numbers"),
        (["--replicas", "1000000"], "replicas is 1000000; give 1 to 1024"),
        (["--gap-scale", "1e308"], "a gap of 7 s never ends"),
        (["--host-memory-gib", "nan"], "nan is not a size"),
        (["--scheduling", "lifo"], "no queue order 'lifo'"),
        (["--eviction", "cachewise"], "--reuse-model"),
        (["--sessions", "7"], "7 sessions are asked for and 6 of 6 fit"),
        (["--seed", "-1"], "whole numbers"),
        (["--profile", "h300"], "one of 2xh200-32b, cpu-smollm2, l4-qwen3-4b"),
        (["--population", "growing"], "no population 'growing'"),
        (["--host-memory-gib", "1"], "no link to host memory"),
    ],
)
def test_wrong_calls_are_one_line(
    keepwarm_cli: Keepwarm, trace: str, arguments: list[str], words: str
) -> None:
    ran = keepwarm_cli("simulate", "fleet", trace, *SMALL, *arguments)
    assert ran.exit_code == 2
    assert words in one_line(ran.stderr)
