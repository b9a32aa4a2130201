from __future__ import annotations

import json
from pathlib import Path

import pytest

from keepwarm.trace.readers import FORMATS
from tests.cache.traces import THREE, chat, hashed, write_lines
from tests.cli.conftest import Keepwarm
from tests.cli.test_commands import one_line
from tests.trace_readers.samples import sample

ROW_KEYS = [
    "policy",
    "capacity_blocks",
    "requests",
    "query_tokens",
    "hit_tokens",
    "hit_rate",
    "evicted_blocks",
    "evicted_then_requested_blocks",
]
REPORT = """\
keepwarm: what caches of these sizes would hit (simulated) ─────────────────────
trace   three.jsonl
        mooncake · 3 requests
tokens  the trace brings its own blocks: nothing was rendered or tokenised here
cache   4-token blocks, output takes space, 6 distinct blocks in the trace
replay  one request after another in recorded order, each freed before the next

A cache that loses nothing would hit 22.2%: 8 of 36 prompt tokens (simulated).
No policy and no size exceeds it.

By capacity and policy (simulated) ─────────────────────────────────────────────
                    hit       of     hit           asked
capacity  policy   rate  ceiling  tokens  evicted  again
       4  lru     11.1%    50.0%       4        4      1
          belady  11.1%    50.0%       4        4      1
       8  lru     22.2%   100.0%       8        0      0
          belady  22.2%   100.0%       8        0      0
capacity: usable blocks, vLLM's number less 1; evicted, asked again: blocks
evicted, then asked for again (lru, 4 blocks): half within 1 block handed out
since, 90% within 1, 99% within 1
"""


@pytest.fixture
def three(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    write_lines(tmp_path / "three.jsonl", THREE)
    monkeypatch.chdir(tmp_path)
    return "three.jsonl"


def test_the_contract(keepwarm_cli: Keepwarm, three: str) -> None:
    call = ("simulate", "cache", three, "--policy", "lru,belady", "--capacity-blocks", "4,8", "--json")
    first, second = keepwarm_cli(*call), keepwarm_cli(*call)
    assert (first.exit_code, first.stderr) == (0, "")
    document = json.loads(first.stdout)
    assert document["schema"] == "keepwarm.cache-sim/1"
    assert [(row["policy"], row["capacity_blocks"]) for row in document["rows"]] == [
        ("lru", 4), ("lru", 8), ("belady", 4), ("belady", 8),
    ]  # fmt: skip
    for row in document["rows"]:
        assert list(row)[: len(ROW_KEYS)] == ROW_KEYS
    assert list(document["rows"][0].values())[: len(ROW_KEYS)] == ["lru", 4, 3, 36, 4, 4 / 36, 4, 1]
    assert document["ceiling"] == {"query_tokens": 36, "hit_tokens": 8, "hit_rate": 8 / 36}
    assert first.stdout_bytes == second.stdout_bytes
    assert keepwarm_cli(*call, "--no-store", "--threads", "1").stdout_bytes == first.stdout_bytes


def test_the_report(keepwarm_cli: Keepwarm, three: str) -> None:
    call = ("simulate", "cache", three, "--policy", "lru,belady")
    result = keepwarm_cli(*call, COLUMNS="80")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == REPORT
    assert "\x1b[" in keepwarm_cli(*call, FORCE_COLOR="1").stdout


def test_what_a_repair_would_give(keepwarm_cli: Keepwarm, tmp_path: Path) -> None:
    manual = "Answer in short sentences and cite the page of the manual. " * 12
    lines = [chat(f"2026-03-01T10:00:{n:02}Z {manual} Question {n * 7919}?") for n in range(10, 20)]
    path = str(write_lines(tmp_path / "clocked.jsonl", lines))
    call = ("simulate", "cache", path, "--policy", "lru", "--no-store")
    assert "repaired" not in keepwarm_cli(*call).stdout
    assert json.loads(keepwarm_cli(*call, "--json").stdout)["if_fixed"] is None
    shown = keepwarm_cli(*call, "--if-fixed")
    assert "With 1 finding of the diagnosis repaired it would be" in shown.stdout
    fixed = json.loads(keepwarm_cli(*call, "--if-fixed", "--json").stdout)["if_fixed"]
    assert (fixed["findings"], fixed["curve"]) == (["F1"], None)
    assert fixed["ceiling"]["hit_rate"] > 0.5
    drawn = json.loads(keepwarm_cli(*call, "--if-fixed", "--curve", "--json").stdout)["if_fixed"]
    assert drawn["ceiling"] == fixed["ceiling"]
    assert [policy["policy"] for policy in drawn["curve"]["policies"]] == ["lru", "belady"]


def test_nothing_to_repair_is_said(keepwarm_cli: Keepwarm, three: str) -> None:
    shown = keepwarm_cli("simulate", "cache", three, "--policy", "lru", "--if-fixed")
    assert shown.exit_code == 0
    assert "no finding whose repair would change that" in shown.stdout


def test_a_narrow_terminal_spares_columns_and_cuts_no_number(keepwarm_cli: Keepwarm, tmp_path: Path) -> None:
    records = [hashed(range(1000 * n, 1000 * n + 900), block_size=4) for n in range(40)]
    path = write_lines(tmp_path / "t.jsonl", [*records, records[0]])
    call = ("simulate", "cache", str(path), "--policy", "computecache-window", "--capacity-blocks", "1000")
    wide, narrow = (keepwarm_cli(*call, COLUMNS=columns).stdout for columns in ("140", "60"))
    assert "no room for" not in wide
    assert "no room for: hit tokens" in narrow
    for shown in (wide, narrow):
        assert "1,000  computecache-window" in shown
        assert " 35,900" in shown  # evicted: all but what is left in the end
        assert "…" not in shown.split("By capacity")[1]


def test_a_curve_of_many_policies_is_told_in_tables_that_fit(keepwarm_cli: Keepwarm, three: str) -> None:
    policies = "lru,computecache-window,computecache,slru,s3fifo,sieve,lfu"
    shown = keepwarm_cli("simulate", "cache", three, "--policy", policies, "--curve", COLUMNS="60").stdout
    below = shown.split("Hit rate by capacity")[1]
    assert max(map(len, below.splitlines())) <= 60
    for policy in (*policies.split(","), "belady"):
        assert below.split().count(policy) == 2  # once among the rates, once among the sizes


def test_options_reach_the_simulation(keepwarm_cli: Keepwarm, three: str) -> None:
    Path(three).write_text("".join(json.dumps({**r, "output_length": 5}) + "\n" for r in THREE))
    call = ["simulate", "cache", three, "--policy", "lru", "--capacity-blocks", "4", "--json"]

    def row(*options: str) -> dict[str, object]:
        (found,) = json.loads(keepwarm_cli(*call, *options).stdout)["rows"]
        return dict(found)

    assert row()["hit_tokens"] == 0
    assert row("--ignore-output")["hit_tokens"] == 4
    assert row("--ignore-output", "--match-unit-tokens", "8")["hit_tokens"] == 0
    assert row("--block-size", "4", "--format", "mooncake")["evicted_blocks"] == 8


def test_a_curve_and_its_picture(keepwarm_cli: Keepwarm, three: str) -> None:
    call = ["simulate", "cache", three, "--policy", "lru", "--capacity-blocks", "4"]
    curve = json.loads(keepwarm_cli(*call, "--curve", "--json").stdout)["curve"]
    assert [policy["policy"] for policy in curve["policies"]] == ["lru", "belady"]
    shown = keepwarm_cli(*call, "--plot", "curve.svg").stdout
    assert "Usable blocks for a share of the ceiling (simulated)" in shown
    first = Path("curve.svg").read_bytes()
    assert first.startswith(b"<?xml")
    keepwarm_cli(*call, "--plot", "curve.svg")
    assert Path("curve.svg").read_bytes() == first
    sampled = keepwarm_cli(*call, "--sample", "1", "--plot", "sampled.png")
    assert sampled.exit_code == 0
    assert "of 6 distinct blocks; the ceiling is exact" in sampled.stdout
    assert Path("sampled.png").read_bytes().startswith(b"\x89PNG")


def test_what_a_server_recorded_is_set_beside(keepwarm_cli: Keepwarm, tmp_path: Path) -> None:
    text = "word " * 200
    path = write_lines(tmp_path / "t.jsonl", [chat(text), chat(text, cached_tokens=0)])
    shown = keepwarm_cli("simulate", "cache", str(path), "--policy", "lru", COLUMNS="140").stdout
    assert "recorded hits" in shown
    assert "tokens are approximate, so is this" in shown
    events = write_lines(
        tmp_path / "e.jsonl", [{"type": "BlockStored", "block_hashes": [1, 2], "block_size": 16}]
    )
    shown = keepwarm_cli("simulate", "cache", str(path), "--kv-events", str(events)).stdout
    assert "recorded evictions: 0 blocks removed by the server" in shown
    assert "it had 2 cached at most" in shown


def test_skipped_lines_and_merged_sessions_are_told(keepwarm_cli: Keepwarm, tmp_path: Path) -> None:
    entries = [{"t": 0, "in": 70, "out": 1, "hash_ids": [1]}]
    session = {"id": "a", "block_size": 64, "hash_id_scope": "local", "requests": entries}
    path = write_lines(tmp_path / "t.jsonl", [session, {**session, "id": "b"}])
    path.write_text(path.read_text() + "{\n")
    shown = keepwarm_cli("simulate", "cache", str(path), "--policy", "lru").stdout
    assert "1 line skipped" in shown
    assert "line 3: " in shown
    assert "in order of time since the start of its session" in shown


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--policy", "lru,"], "'lru,' is not a list of names"),
        (["--policy", ""], "'' is not a list of names"),
        (["--policy", "fifo"], "unknown policy 'fifo'"),
        (["--policy", "lru,lru"], "policy 'lru' is named twice"),
        (["--capacity-blocks", "8,,9"], "'8,,9' is not a list of positive whole numbers; write 512,1024"),
        (["--capacity-blocks", "1e3"], "'1e3' is not a list"),
        (["--capacity-blocks", "0"], "'0' is not a list of positive"),
        (["--capacity-blocks", "-8"], "'-8' is not a list of positive"),
        (["--capacity-blocks", "8.5"], "'8.5' is not a list"),
        (["--capacity-blocks", "٨"], "is not a list"),
        (["--capacity-blocks", "9" * 30], "is not a list"),
        (["--capacity-blocks", "9" * 5000], "9…' is not a list"),
        (["--capacity-blocks", "8,8"], "capacity of 8 blocks is named twice"),
        (["--capacity-blocks", "2"], "is below one request: the prompt at line 1 of 'three.jsonl' takes 3"),
        (["--block-size", "16"], "holds hashes of blocks of 4 tokens, not of 16"),
        (["--match-unit-tokens", "6"], "no multiple of the block size 4"),
        (["--match-unit-tokens", "0"], "--match-unit-tokens"),
        (["--threads", "0"], "--threads"),
        (["--sample", "2"], "sampling rate 2.0"),
        (["--sample", "nan"], "sampling rate nan"),
        (["--plot", "curve.jpg"], "neither .png nor .svg"),
        (["--plot", "no/where.svg"], "no folder 'no'"),
        (["--plot", "folder.svg"], "'folder.svg' is a folder; name a file"),
        (["--gpu", "H100"], "--gpu says nothing without a model; add --model-config FILE"),
        (["--weights-gib", "15"], "--weights-gib says nothing without a model"),
        (["--gpu-memory-utilization", "1"], "--gpu-memory-utilization says nothing without a model"),
        (["--model-config", "nowhere.json"], "nowhere.json"),
        (["--kv-events", "nowhere.jsonl"], "nowhere.jsonl"),
        (["--kv-events", "folder.svg"], "'folder.svg' is a directory; name one file of recorded KV events"),
        (["--format", "mooncace"], "unknown format 'mooncace'"),
        (["--spill", "there"], "--spill says nothing without a budget; add --memory SIZE"),
    ],
)
def test_a_wrong_call_is_one_line(keepwarm_cli: Keepwarm, three: str, options: list[str], says: str) -> None:
    Path("folder.svg").mkdir()
    result = keepwarm_cli("simulate", "cache", three, *options)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert says in one_line(result.stderr)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["simulate"], "Missing command"),
        (["simulate", "cach"], "No such command 'cach'"),
        (["simulate", "cache"], "Missing argument 'TRACE'"),
        (["simulate", "cache", "nowhere.jsonl"], "nowhere.jsonl"),
    ],
)
def test_a_call_without_a_trace(keepwarm_cli: Keepwarm, words: list[str], says: str) -> None:
    result = keepwarm_cli(*words)
    assert result.exit_code == 2
    assert says in one_line(result.stderr)


def test_malformed_files(keepwarm_cli: Keepwarm, shared: Path) -> None:
    """Nothing usable is one line; else what is usable is simulated, and the rest is listed."""
    folder = shared / "cases" / "malformed"
    labels = sorted(folder.glob("*.expect.json"))
    assert labels
    for label in labels:
        expected = json.loads(label.read_text())
        path = folder / label.name.removesuffix(".expect.json")
        result = keepwarm_cli("simulate", "cache", str(path), "--policy", "lru", "--json")
        assert result.exit_code == expected["must_exit"], path.name
        if result.exit_code:
            one_line(result.stderr)
            continue
        document = json.loads(result.stdout)
        if expected["ok_requests"] is not None:
            assert document["input"]["requests"] == expected["ok_requests"], path.name
        assert len(document["rows"]) >= 1


@pytest.mark.parametrize("name", FORMATS)
def test_every_format(
    keepwarm_cli: Keepwarm, shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("KEEPWARM_CACHE_DIR", str(tmp_path / "cache"))
    path = str(sample(shared, name, tmp_path))
    call = ("simulate", "cache", path, "--policy", "lru", "--json")
    outputs = [keepwarm_cli(*call, *more) for more in ([], [], ["--no-store"])]
    assert [output.exit_code for output in outputs] == [0, 0, 0]
    assert len({output.stdout_bytes for output in outputs}) == 1
    document = json.loads(outputs[0].stdout)
    assert document["input"]["format"] == name
    last = document["rows"][-1]
    assert (last["evicted_blocks"], last["hit_tokens"]) == (0, document["ceiling"]["hit_tokens"])
    assert keepwarm_cli(*call[:-1]).stdout.startswith("keepwarm: ")


def test_a_trace_of_empty_prompts(keepwarm_cli: Keepwarm, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "t.jsonl", [hashed([], tokens=0), hashed([], tokens=1)])
    document = json.loads(keepwarm_cli("simulate", "cache", str(path), "--policy", "lru", "--json").stdout)
    assert document["rows"][0]["hit_rate"] == 0
    assert document["rows"][0]["capacity_blocks"] == 1


def test_a_picture_never_takes_the_place_of_its_trace(keepwarm_cli: Keepwarm, three: str) -> None:
    trace = Path("three.svg")
    trace.write_bytes(Path(three).read_bytes())
    Path("link.svg").symlink_to(trace)
    for command in (("simulate", "cache"), ("sessions", "describe")):
        for plot in ("three.svg", "./three.svg", "link.svg"):
            result = keepwarm_cli(*command, str(trace), "--plot", plot)
            assert (result.exit_code, result.stdout) == (2, "")
            assert "would overwrite the trace" in one_line(result.stderr)
    assert trace.read_bytes() == Path(three).read_bytes()
