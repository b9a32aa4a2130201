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
    "scheduling",
    "eviction",
    "sessions",
    "seed",
    "session_completion_s",
    "request_latency_s",
    "ttft_s",
    "queue_wait_s",
    "token_goodput",
    "requests_per_s",
    "evicted_blocks",
    "hit_rate",
    "makespan_s",
]


@pytest.fixture
def trace(tmp_path: Path) -> str:
    """Six sessions of three requests of up to 12 blocks of 16 tokens."""
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
                "think_time": 2.0 * step,
                "api_time": 1.0,
            }
            for step in range(3)
        ]
        lines.append({"id": f"s{number}", "block_size": 16, "hash_id_scope": "local", "requests": requests})
    path = tmp_path / "six.jsonl"
    write_lines(path, lines)
    return str(path)


SMALL = ("--profile", "cpu-smollm2", "--capacity-tokens", "320")


def test_the_document_keeps_its_contract(keepwarm_cli: Keepwarm, trace: str) -> None:
    ran = keepwarm_cli(
        "simulate", "serving", trace, *SMALL, "--json",
        "--scheduling", "cachewise,fcfs", "--eviction", "lru,oracle", "--sessions", "4,2", "--seed", "0,3",
    )  # fmt: skip
    assert ran.exit_code == 0, ran.output
    document = json.loads(ran.stdout)
    assert document["schema"] == "keepwarm.serving-sim/1"
    assert document["input"]["trace_sha256"] == hashlib.sha256(Path(trace).read_bytes()).hexdigest()
    assert document["server"]["capacity_blocks"] == 20
    rows = document["rows"]
    assert [(row["scheduling"], row["eviction"], row["sessions"], row["seed"]) for row in rows] == [
        (order, rule, count, seed)
        for order in ("cachewise", "fcfs")
        for rule in ("lru", "oracle")
        for count in (4, 2)
        for seed in (0, 3)
    ]
    for row in rows:
        assert list(row)[: len(KEYS)] == KEYS
        assert list(row["request_latency_s"]) == ["p50", "p99", "max"]
        assert list(row["ttft_s"]) == ["p50", "p99"]
        assert list(row["queue_wait_s"]) == ["p99", "max"]
        assert row["requests"] == 3 * row["sessions"]


def test_timelines_are_files_of_the_runs_of_the_document(
    keepwarm_cli: Keepwarm, trace: str, tmp_path: Path
) -> None:
    wanted = (
        "simulate",
        "serving",
        trace,
        *SMALL,
        "--json",
        "--scheduling",
        "fcfs,active-set",
        "--sessions",
        "4",
    )
    folder = tmp_path / "new" / "timelines"
    ran = keepwarm_cli(*wanted, "--timelines", str(folder))
    assert ran.exit_code == 0, ran.output
    assert ran.stdout == keepwarm_cli(*wanted).stdout
    document = json.loads(ran.stdout)
    for row in document["rows"]:
        timeline = json.loads((folder / f"timeline-{row['scheduling']}-lru-4-0.json").read_bytes())
        assert timeline["schema"] == "keepwarm.serving-timeline/1"
        assert timeline["trace_sha256"] == document["input"]["trace_sha256"]
        for key in ("scheduling", "eviction", "seed", "makespan_s", "session_completion_s"):
            assert timeline[key] == row[key]
        assert [len(one["end_s"]) for one in timeline["sessions"]] == [3] * 4
    assert len(list(folder.iterdir())) == len(document["rows"])


def test_the_table_says_what_it_shows(keepwarm_cli: Keepwarm, trace: str) -> None:
    ran = keepwarm_cli("simulate", "serving", trace, *SMALL, "--sessions", "2", "--gap-scale", "4")
    assert ran.exit_code == 0, ran.output
    assert "20 blocks of 16 tokens, 2,048 tokens a step" in ran.stdout
    assert "all sessions start together, gaps x 4" in ran.stdout
    assert "simulated" in ran.stdout
    assert "fcfs" in ran.stdout


def test_the_same_bytes_whatever_the_hash_seed(trace: str) -> None:
    command = [
        sys.executable, "-m", "keepwarm", "simulate", "serving", trace, *SMALL, "--sessions", "5", "--json",
        "--scheduling", "fcfs,longest-prefix,cachewise,active-set", "--eviction", "lru,computecache,oracle",
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
        (["--scheduling", "lifo"], "no queue order 'lifo'"),
        (["--eviction", "mru"], "no eviction 'mru'"),
        (["--eviction", "cachewise"], "--reuse-model"),
        (["--reuse-model", "missing.json"], "missing.json"),
        (["--sessions", "7"], "7 sessions are asked for and 6 of 6 fit"),
        (["--sessions", "0"], "positive whole numbers"),
        (["--seed", "-1"], "whole numbers"),
        (["--profile", "h300"], "one of 2xh200-32b, cpu-smollm2, l4-qwen3-4b"),
        (["--population", "growing"], "no population 'growing'"),
        (["--gap-scale", "-1"], "not a factor"),
        (["--host-memory-gib", "1"], "no link to host memory"),
        (["--tool-durations", "missing.csv"], "missing.csv"),
        (["--capacity-tokens", "96"], "0 of 6 fit"),
        (["--timelines", __file__], "test_simulate_serving.py"),
    ],
)
def test_wrong_calls_are_one_line(
    keepwarm_cli: Keepwarm, trace: str, arguments: list[str], words: str
) -> None:
    ran = keepwarm_cli(
        "simulate", "serving", trace, "--profile", "cpu-smollm2", "--sessions", "2", *arguments
    )
    assert ran.exit_code == 2
    assert words in one_line(ran.stderr)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"schema": "keepwarm.profile/2"}, "keepwarm.profile/2"),
        ({"capacity_tokens": 0}, "capacity_tokens is 0"),
        ({"costs": {"type": "guessed"}}, "guessed"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_a_profile_that_is_none_is_refused(
    keepwarm_cli: Keepwarm, trace: str, tmp_path: Path, change: dict, words: str
) -> None:
    from keepwarm.serving.profile import load_profile, profile_document

    path = tmp_path / "profile.json"
    path.write_text(json.dumps(profile_document(load_profile("l4-qwen3-4b")) | change))
    ran = keepwarm_cli("simulate", "serving", trace, "--profile", str(path), "--sessions", "2")
    assert ran.exit_code == 2
    assert words in one_line(ran.stderr)


@pytest.mark.parametrize("gap_scale", ["1", "2"])
def test_without_a_model_one_is_fitted_to_the_tool_durations(
    keepwarm_cli: Keepwarm, trace: str, tmp_path: Path, gap_scale: str
) -> None:
    calls = tmp_path / "calls.csv"
    rows = [
        f"task-{n % 9},r,{n},0,0,0,{n % 7 + 0.5},1,{'make test' if n % 7 > 3 else 'ls'}" for n in range(600)
    ]
    calls.write_text("\n".join(["task,run,step,cost,t_llm_end,t_tool_end,tool_s,llm_s,command", *rows, ""]))
    wanted = ("simulate", "serving", trace, *SMALL, "--eviction", "cachewise", "--sessions", "4", "--json")
    assert keepwarm_cli(*wanted).exit_code == 2
    ran = keepwarm_cli(*wanted, "--gap-scale", gap_scale, "--tool-durations", str(calls))
    assert ran.exit_code == 0, ran.output
    assert json.loads(ran.stdout)["rows"][0]["eviction"] == "cachewise"
