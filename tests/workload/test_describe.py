"""Figures held to computations that share nothing with ours."""

from __future__ import annotations

import csv
import gzip
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwarm.cache.options import SimulateOptions
from keepwarm.cache.simulate import simulate_cache
from keepwarm.reuse.calls import ToolCall
from keepwarm.reuse.fit import FitOptions, fit
from keepwarm.workload.describe.describe import DescribeOptions, describe
from keepwarm.workload.describe.figures import Description, Distribution, TraceFigures
from keepwarm.workload.describe.measure import distribution, measure
from keepwarm.workload.describe.steps import Change, Steps
from keepwarm.workload.describe.tools import program_of, tool_times
from keepwarm.workload.load import LoadOptions, load_recording
from tests.cache.traces import write_lines
from tests.workload.samples import (
    Json,
    agent_sessions,
    duration,
    entry,
    mooncake,
    raw_loops,
    session,
    tool_durations,
)

M = 763_000


@pytest.fixture(scope="module")
def real(shared: Path) -> Description:
    """The coding agents beside the chat, with the tool durations."""
    options = DescribeOptions(
        beside=str(mooncake(shared)), capacity_tokens=M, tools=str(tool_durations(shared))
    )
    return describe(str(agent_sessions(shared)), options)


def figures(
    tmp_path: Path, *records: Json, window_s: float = 10.0, capacity: int | None = None
) -> TraceFigures:
    recording = load_recording(write_lines(tmp_path / "trace.jsonl", records))
    return measure(recording, window_s=window_s, capacity_tokens=capacity, bytes_per_token=100)


def check_quantiles(found: Distribution, values: Iterable[float]) -> None:
    """Against the definition: so many values are at most the quantile, and fewer are below it."""
    known = list(values)
    assert found.count == len(known)
    assert found.total == pytest.approx(sum(known))
    assert found.mean == pytest.approx(statistics.fmean(known))
    assert (found.percentiles[0], found.max) == (min(known), max(known))
    for percent, value in enumerate(found.percentiles[1:], start=1):
        assert sum(x <= value for x in known) * 100 >= percent * len(known)
        assert sum(x < value for x in known) * 100 < percent * len(known)
    assert (found.p50, found.p90, found.p99) == tuple(found.percentiles[percent] for percent in (50, 90, 99))


@given(st.lists(st.integers(-5, 5) | st.floats(-1e6, 1e6), min_size=1, max_size=250))
def test_quantiles_are_values_by_nearest_rank(values: list[float]) -> None:
    check_quantiles(distribution(values), values)


def test_the_agents_as_the_file_has_them(real: Description, shared: Path) -> None:
    loops = raw_loops(shared)
    items = [item for loop in loops.values() for item in loop]
    trace = real.trace
    assert (trace.sessions, trace.requests, trace.block_size) == (len(loops), len(items), 64)
    check_quantiles(trace.prefill_tokens, (item["in"] for item in items))
    check_quantiles(trace.decode_tokens, (max(1, item["out"]) for item in items))
    check_quantiles(trace.requests_per_session, map(len, loops.values()))
    prefill, decode = (sum(item[key] for item in items) for key in ("in", "out"))
    assert trace.prefill_per_decode == pytest.approx(prefill / decode, rel=1e-4)
    tool = sum("tool_result" in item["input_types"] for item in items)
    assert trace.triggers.tool_requests == tool
    told = sum(
        bool(before["output_types"])
        for loop in loops.values()
        for before, item in pairwise(loop)
        if "tool_result" not in item["input_types"]
    )
    first = sum("tool_result" not in loop[0]["input_types"] for loop in loops.values())
    assert trace.triggers.human_requests == told + first
    assert trace.triggers.unknown_requests == len(items) - tool - told - first > 0
    endless = sum("api_time" not in item for loop in loops.values() for item in loop[:-1])
    assert trace.triggers.gaps_with_answer == endless > 0
    check_quantiles(
        trace.footprint_tokens,
        (max(item["in"] + max(1, item["out"]) for item in loop) for loop in loops.values()),
    )


def test_the_agents_are_like_the_collection_they_are_from(real: Description) -> None:
    """The figures of 710 sessions, of which these are 120, as the data's page states them."""
    trace = real.trace
    assert trace.prefill_tokens.p50 == pytest.approx(104_600, rel=0.05)
    assert trace.decode_tokens.p50 == pytest.approx(216, rel=0.05)
    assert trace.triggers.tool_gap_s is not None
    assert (trace.triggers.tool_gap_s.p50, trace.triggers.tool_gap_s.p90) == (9, 71)
    assert trace.reuse.hit_share.p50 == pytest.approx(0.993, abs=0.001)


@pytest.mark.parametrize("which", ["trace", "beside"])
def test_hits_are_the_ceiling_of_the_cache_model(real: Description, which: str) -> None:
    """That replays blocks of its own numbering through its own pass."""
    trace: TraceFigures = getattr(real, which)
    ceiling = simulate_cache(
        trace.input.path, SimulateOptions(policies=("lru",), capacities_blocks=(2**20,), ignore_output=True)
    ).ceiling
    assert (trace.reuse.hit_tokens, trace.prefill_tokens.total) == (ceiling.hit_tokens, ceiling.query_tokens)
    assert trace.reuse.hit_rate == ceiling.hit_rate
    assert trace.transfer.read_tokens.total == ceiling.hit_tokens
    computed = ceiling.query_tokens - ceiling.hit_tokens
    assert trace.reuse.computed_tokens.total == computed
    assert trace.transfer.written_tokens.total == computed + trace.decode_tokens.total


def test_the_chat_beside_it(real: Description, shared: Path) -> None:
    with gzip.open(mooncake(shared), "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    assert real.beside is not None
    check_quantiles(real.beside.prefill_tokens, (record["input_length"] for record in records))
    check_quantiles(real.beside.decode_tokens, (max(1, record["output_length"]) for record in records))
    assert real.beside.session_s is None
    assert real.beside.triggers.tool_per_human is None
    assert real.beside.triggers.unknown_requests == len(records)
    assert real.beside.working_set is not None
    seconds = (records[-1]["timestamp"] - records[0]["timestamp"]) / 1000
    assert real.beside.working_set.length_s == pytest.approx(seconds)


def test_the_working_set_of_the_chat_at_its_points(real: Description, shared: Path) -> None:
    """Distinct blocks of the prompts of the last ten minutes, counted anew at each point."""
    with gzip.open(mooncake(shared), "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    assert real.beside is not None
    assert real.beside.working_set is not None
    start_s = records[0]["timestamp"] / 1000
    for point in real.beside.working_set.points[::40]:
        used: set[int] = set()
        for record in records:
            age_s = point.time_s - (record["timestamp"] / 1000 - start_s)
            if 0 <= age_s < 600:
                used.update(record["hash_ids"][: record["input_length"] // 512])
        assert point.window_tokens == 512 * len(used)


def test_tool_times_by_program(real: Description, shared: Path) -> None:
    with tool_durations(shared).open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["tool_s"] and float(row["tool_s"]) >= 0]
    assert real.tools is not None
    assert (real.tools.calls, real.tools.kinds) == (len(rows), "programs")
    assert real.tools.cut_off == sum(float(row["tool_s"]) >= 29 for row in rows)
    (bash,) = real.tools.by_tool
    ended = sorted(float(row["tool_s"]) for row in rows)
    assert bash.p50_s == ended[-(-len(ended) // 2) - 1]
    assert bash.p99_s is None  # among the one in ten that were cut off
    kinds = {row.kind: row for row in real.tools.by_kind}
    listing = [row for row in rows if row["command"].split()[:1] == ["ls"]]
    assert kinds["ls"].calls >= len(listing) > 100
    assert sum(row.calls for row in real.tools.by_kind) == sum(bool(row["command"].strip()) for row in rows)
    assert [row.calls for row in real.tools.by_kind[:-1]] == sorted(
        (row.calls for row in real.tools.by_kind[:-1]), reverse=True
    )


@pytest.mark.parametrize(
    ("tool", "arguments", "program"),
    [
        ("bash", "ls -la", "ls"),
        ("bash", "cd /app && DEBUG=1 python3 run.py | tail", "python3"),
        ("bash", "cd /app", "cd"),
        ("bash", "sudo /usr/bin/apt-get install x", "apt-get"),
        ("bash", "./test.sh; ls", "test.sh"),
        ("bash", '{"command": "git status"}', "git"),
        ("shell", '{"cmd": ["bash", "-lc", "make all"]}', "make"),
        ("bash", '{"command": "cut of', ""),
        ("bash", "  ", ""),
        ("bash", "&& ;", ""),
        ("bash", "/", "/"),
        ("Read", "ls", ""),
    ],
)
def test_the_program_that_a_command_is_about(tool: str, arguments: str, program: str) -> None:
    assert program_of(ToolCall(tool, arguments)) == program


def test_tool_times_by_cluster_are_named_by_their_terms() -> None:
    calls = [duration(f"ls -la dir{n}", 0.01 + n / 1e4) for n in range(40)]
    calls += [duration(f"pip install package{n}", 9.0 + n) for n in range(40)]
    model = fit(calls, FitOptions(clusters=2))
    tools = tool_times(calls, model=model)
    assert tools is not None
    assert tools.kinds == "clusters"
    assert [row.calls for row in tools.by_kind] == [40, 40]
    by_median = sorted(tools.by_kind, key=lambda row: row.p50_s or 0.0)
    assert [("ls" in (row.kind or ""), "pip" in (row.kind or "")) for row in by_median] == [
        (True, False), (False, True),
    ]  # fmt: skip


def test_no_calls_are_no_tools() -> None:
    assert tool_times([]) is None


def test_a_small_trace_by_hand(tmp_path: Path) -> None:
    """Blocks of four tokens; window of ten seconds.

    Time 0: blocks 1 2. Time 5: 1 2 3, twelve tokens in the window until the first two leave at 15 + 0.
    """
    trace = figures(
        tmp_path,
        session(
            "a",
            entry(0.0, [1, 2], out=3, api_time=1.0, input_types=["text"]),
            entry(5.0, [1, 2, 3], out=1, api_time=2.0, input_types=["tool_result"]),
            entry(40.0, [1, 9], tokens=9, out=2, input_types=["text"]),
        ),
        capacity=10,
    )
    assert trace.reuse.hit_tokens == 8 + 4  # of the third only block 1; its ninth token is in a part-block
    assert trace.reuse.hit_share.percentiles[0] == 0
    assert trace.transfer.read_bytes == 1200
    assert trace.transfer.written_bytes == 100 * (8 + 3 + 4 + 1 + 5 + 2)
    assert trace.session_s is not None
    assert (trace.session_s.count, trace.session_s.max) == (1, 40.0)
    assert (trace.footprint_tokens.max, trace.sessions_that_fit) == (13, 0)
    found = trace.working_set
    assert found is not None
    assert (found.peak_tokens, found.peak_live_tokens, found.length_s) == (12, 13, 40.0)
    assert found.peak_live_sessions == 1
    assert found.mean_tokens == pytest.approx((5 * 8 + 10 * 12) / 40)
    assert found.above_capacity == pytest.approx(10 / 40)
    assert found.mean_live_tokens == pytest.approx((5 * 11 + 35 * 13) / 40)
    assert found.live_above_capacity == pytest.approx(1.0)
    shown = [(p.window_tokens, p.live_tokens) for p in found.points]
    assert (shown[0], shown[60]) == ((8, 11), (12, 13))


def test_a_trace_that_covers_no_time_has_no_working_set(tmp_path: Path) -> None:
    trace = figures(tmp_path, session("a", entry(0.0, [1])), session("b", entry(0.0, [1, 2])))
    assert trace.working_set is None
    assert trace.session_s is None
    assert (trace.triggers.tool_gap_s, trace.triggers.unknown_gap_s) == (None, None)


def test_unknown_times_give_no_gap_and_no_length(tmp_path: Path) -> None:
    untimed = {key: value for key, value in entry(0.0, [1]).items() if key != "t"}
    trace = figures(tmp_path, session("a", untimed, entry(9.0, [1])), session("b", entry(0.0, [1])))
    assert trace.session_s is None
    assert trace.triggers.unknown_gap_s is None


def test_shared_heads_make_the_working_set_smaller_and_the_hits_more(shared: Path) -> None:
    apart, together = (
        describe(str(agent_sessions(shared)), DescribeOptions(load=LoadOptions(share_system=share))).trace
        for share in (False, True)
    )
    assert together.reuse.hit_tokens > apart.reuse.hit_tokens
    assert apart.working_set is not None
    assert together.working_set is not None
    assert together.working_set.peak_tokens < apart.working_set.peak_tokens
    assert together.prefill_tokens == apart.prefill_tokens


@given(st.lists(st.tuples(st.integers(-3, 13), st.integers(-4, 4)), max_size=20), st.integers(-10, 10))
def test_steps_are_what_summing_second_by_second_gives(changes: list[tuple[int, int]], limit: int) -> None:
    steps = Steps([Change(float(time), by) for time, by in changes], 0.0, 10.0)
    values = [sum(by for time, by in changes if time <= second) for second in range(10)]
    assert steps.mean == pytest.approx(sum(values) / 10)
    assert steps.share_above(limit) == pytest.approx(sum(value > limit for value in values) / 10)
    times = {time for time, _ in changes}
    at_changes = [sum(by for time, by in changes if time <= second) for second in times]
    assert steps.peak == max([0, *at_changes])


@pytest.mark.parametrize("options", [["--json"], []])
def test_the_same_bytes_whatever_the_hash_seed(tmp_path: Path, options: list[str], shared: Path) -> None:
    records = [
        session(name, entry(0, [1, 2], api_time=1.0), entry(9, [1, 2, 3], input_types=["tool_result"]))
        for name in "abc"
    ]
    path = write_lines(tmp_path / "trace.jsonl", records)
    call = [sys.executable, "-m", "keepwarm", "sessions", "describe", str(path), *options]
    call += ["--tools", str(tool_durations(shared)), "--plot", str(tmp_path / "all.svg")]
    outputs = []
    for seed in ("0", "1"):
        ran = subprocess.run(call, env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, check=True)
        outputs.append((ran.stdout, (tmp_path / "all.svg").read_bytes()))
    assert outputs[0] == outputs[1]
    assert outputs[0][0]
