from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cache.traces import write_lines
from tests.cli.conftest import Keepwarm
from tests.cli.test_commands import one_line
from tests.workload.samples import agent_sessions, entry, mooncake, session

REPORT = """\
keepwarm: what these sessions are like ─────────────────────────────────────────────────────────────
trace     two.jsonl
          agent-sessions · 2 sessions · 3 requests · 4-token blocks
left out  1 request or line
          line 2, request 'b/1': the length of its answer is not recorded
M         10 tokens of KV

By request, gap and session ────────────────────────────────────────────────────────────────────────
                    trace    mean     p50     p90     p99     max
prefill             two       9.3       8      12      12      12
decode              two         2       2       3       3       3
computed            two       6.7       8       8       8       8
KV read             two       2.7       0       8       8       8
KV written          two       8.7      10      11      11      11
requests a session  two       1.5       1       2       2       2
footprint           two      11.5      10      13      13      13
hit rate            two     22.2%    0.0%   66.7%   66.7%   66.7%
gap after a tool    two     4.0 s   4.0 s   4.0 s   4.0 s   4.0 s
session length      two    40.0 s  40.0 s  40.0 s  40.0 s  40.0 s
prefill, decode, footprint, computed, KV: tokens; nearest rank

In all ─────────────────────────────────────────────────────────────────────────────────────────────
                              two
prefill tokens                 28
decode tokens                   6
prefill : decode              4.7
requests after a tool           1
requests after a human          2
tool : human                  0.5
hit rate                    28.6%
KV read                  8 tokens
KV written              26 tokens
sessions that fit M             1
hit rates, computed, KV read and written: of a cache that loses nothing (simulated)
two: no absolute times, so all sessions are taken to start together

Working set over time ──────────────────────────────────────────────────────────────────────────────
two, over 40.0 s
asked for in the last 10.0 s: 4 tokens on average, 12 at most, more than M for 0.0% of the time
"""


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A session that comes back after a tool, and another, of which one request is of no use."""
    no_use = {"t": 9.0, "in": 8, "hash_ids": [1, 2]}
    records = [
        session(
            "a",
            entry(0.0, [1, 2], out=3, api_time=36.0, input_types=["text"]),
            entry(40.0, [1, 2, 3], out=1, think_time=4.0, input_types=["tool_result"]),
        ),
        session("b", entry(10.0, [1, 2], input_types=["text"]), no_use),
    ]
    write_lines(tmp_path / "two.jsonl", records)
    monkeypatch.chdir(tmp_path)
    return "two.jsonl"


def test_the_report(keepwarm_cli: Keepwarm, two: str) -> None:
    result = keepwarm_cli("sessions", "describe", two, "--capacity-tokens", "10", "--window-s", "10")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith(REPORT)
    first, *live, second = result.stdout[len(REPORT) :].splitlines()
    assert first == "▅" * 50 + "▁" * 49 + "█"
    assert " ".join(live) == (
        "held by sessions that go on, 1 at most: 11 tokens on average, 11 at most, more than M for 100.0% of "
        "the time"
    )
    assert second == "█" * 100
    assert "\x1b[" in keepwarm_cli("sessions", "describe", two, FORCE_COLOR="1").stdout


@pytest.mark.parametrize("columns", ["60", "80", "140"])
def test_no_number_is_cut_and_no_line_is_too_long(keepwarm_cli: Keepwarm, shared: Path, columns: str) -> None:
    call = ("sessions", "describe", str(mooncake(shared)), "--capacity-tokens", "763000")
    result = keepwarm_cli(*call, COLUMNS=columns)
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) <= int(columns)
    assert "144,793,823" in result.stdout
    assert ("no room for: mean, max" in result.stdout) == (columns != "140")


def test_the_contract(keepwarm_cli: Keepwarm, two: str) -> None:
    call = ("sessions", "describe", two, "--json", "--beside", two)
    first, second = keepwarm_cli(*call), keepwarm_cli(*call)
    assert (first.exit_code, first.stderr) == (0, "")
    assert first.stdout_bytes == second.stdout_bytes
    document = json.loads(first.stdout)
    assert list(document) == ["schema", "capacity_tokens", "bytes_per_token", "trace", "beside", "tools"]
    assert document["schema"] == "keepwarm.sessions/1"
    assert document["trace"] == document["beside"]
    assert (document["capacity_tokens"], document["tools"]) == (None, None)
    trace = document["trace"]
    assert list(trace["input"]) == ["path", "sha256", "format", "sessions_known", "one_clock", "skipped"]
    assert trace["input"]["path"] == two
    assert list(trace)[1:] == [
        "block_size", "sessions", "requests", "prefill_tokens", "decode_tokens", "prefill_per_decode",
        "requests_per_session", "triggers", "session_s", "footprint_tokens", "sessions_that_fit", "reuse",
        "transfer", "working_set",
    ]  # fmt: skip
    assert list(trace["prefill_tokens"]) == [
        "count", "total", "mean", "p50", "p90", "p99", "max", "percentiles"
    ]  # fmt: skip
    assert len(trace["prefill_tokens"]["percentiles"]) == 101


def test_the_model_gives_bytes(keepwarm_cli: Keepwarm, two: str, tmp_path: Path) -> None:
    shape = {"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8}
    config = tmp_path / "config.json"
    config.write_text(
        json.dumps({"model_type": "llama", "torch_dtype": "bfloat16", "hidden_size": 32, **shape})
    )
    result = keepwarm_cli("sessions", "describe", two, "--model-config", str(config), "--json")
    document = json.loads(result.stdout)
    assert document["bytes_per_token"] == 2 * 2 * 2 * 8 * 2  # keys and values, layers, heads, size, bytes
    assert document["trace"]["transfer"]["read_bytes"] == 8 * 128
    report = keepwarm_cli("sessions", "describe", two, "--model-config", str(config)).stdout
    assert "1.0 kB" in report
    assert "128 bytes a token, all GPUs together" in report


def test_pictures(keepwarm_cli: Keepwarm, two: str, tmp_path: Path) -> None:
    assert keepwarm_cli("sessions", "describe", two, "--plot", "all.png").exit_code == 0
    assert Path("all.png").read_bytes().startswith(b"\x89PNG")
    folder = tmp_path / "pictures"
    folder.mkdir()
    assert keepwarm_cli("sessions", "describe", two, "--plot", str(folder)).exit_code == 0
    names = {path.name for path in folder.iterdir()}
    assert names == {
        f"{name}.svg"
        for name in ("prefill", "decode", "computed", "requests", "gaps", "sessions", "working-set")
    }
    assert "Working set over time" in (folder / "working-set.svg").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("none.jsonl",), "cannot open 'none.jsonl'"),
        (("empty.jsonl",), "is empty"),
        (("odd.jsonl",), "no recorded requests recognised in 'odd.jsonl'"),
        (("useless.jsonl",), "no request of 'useless.jsonl' can be served"),
        (("two.jsonl", "--beside", "none.jsonl"), "cannot open 'none.jsonl'"),
        (("two.jsonl", "--block-size", "16"), "leave --block-size out or pass 4"),
        (("two.jsonl", "--tools", "two.jsonl"), "no transcript of an agent recognised"),
        (("two.jsonl", "--tools", "odd.csv"), "CSV"),
        (("two.jsonl", "--reuse-model", "odd.csv"), "cannot be used"),
        (("two.jsonl", "--model-config", "odd.csv"), "odd.csv"),
        (("two.jsonl", "--plot", "x.pdf"), "neither a .png or .svg file nor a folder"),
        (("two.jsonl", "--plot", "nowhere/x.svg"), "no folder 'nowhere'"),
        (("two.jsonl", "--window-s", "0"), "not a positive number of seconds"),
        (("two.jsonl", "--window-s", "nan"), "not a positive number of seconds"),
        (("two.jsonl", "--capacity-tokens", "0"), "--capacity-tokens"),
        (("two.jsonl", "--format", "nothing"), "unknown format 'nothing'"),
    ],
)
def test_one_line_for_what_is_wrong(
    keepwarm_cli: Keepwarm, two: str, arguments: tuple[str, ...], message: str
) -> None:
    Path("empty.jsonl").write_text("")
    Path("odd.jsonl").write_text('{"a": 1}\n')
    Path("odd.csv").write_text("a,b\n1,2\n")
    write_lines(Path("useless.jsonl"), [session("a", entry(0.0, []))])
    result = keepwarm_cli("sessions", "describe", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in one_line(result.stderr)


def test_hostile_names_do_not_reach_the_terminal(keepwarm_cli: Keepwarm, tmp_path: Path) -> None:
    """A session's name in a line on what was left out, and the program of a command."""
    no_use = {"t": 0.0, "in": 8, "hash_ids": [1, 2]}
    trace = write_lines(tmp_path / "x.jsonl", [session("\x1b[31mred\x07", entry(0.0, [1]), no_use)])
    tools = tmp_path / "tools.csv"
    tools.write_text("command,tool_s,tool\n" + "\x1b[2Jclear,1.0,\x1b]0;t\x07bash\n" * 12)
    result = keepwarm_cli("sessions", "describe", str(trace), "--tools", str(tools), COLUMNS="140")
    assert result.exit_code == 0
    assert "\x1b" not in result.stdout
    assert "\x07" not in result.stdout


def test_the_agents_beside_the_chat(keepwarm_cli: Keepwarm, shared: Path) -> None:
    result = keepwarm_cli(
        "sessions", "describe", str(agent_sessions(shared)), "--beside", str(mooncake(shared)), COLUMNS="120"
    )
    assert result.exit_code == 0
    assert "claude_code_sessions" in result.stdout
    assert "conversation_trace: no sessions are named, so each request is one" in result.stdout
