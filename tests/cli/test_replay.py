"""``keepwarm replay`` as a command: what reaches the run, what is printed, what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import httpx2
import pytest

from keepwarm.replay.measuring.files import read_run
from tests.canary.pressure.fake_vllm import served
from tests.cli.replays import run
from tests.cli.test_commands import one_line
from tests.replay import traces
from tests.replay.fake_server import ReplayVllm

KEY = "sk-a-secret-that-nobody-may-see"


@pytest.fixture
def trace(tmp_path: Path) -> str:
    return traces.write(tmp_path / "trace.jsonl", traces.repaired())


def test_json_is_one_document_and_nothing_else(trace: str, tmp_path: Path) -> None:
    with served(ReplayVllm()) as url:
        result = run(
            "replay", trace, "--base-url", url, "--label", "before", "--out", tmp_path / "o", "--json"
        )
    assert (result.exit_code, result.stderr) == (0, "")
    assert json.loads(result.stdout)["schema"] == "keepwarm.replay/1"
    assert (tmp_path / "o" / "run.json").read_text() == result.stdout


def test_the_report_says_what_was_measured(trace: str, tmp_path: Path) -> None:
    fake = ReplayVllm(broken={3: lambda _: httpx2.Response(500, text="engine dead")})
    with served(fake) as url:
        result = run("replay", trace, "--base-url", url, "--label", "before", "--out", tmp_path / "o")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "measured replay 'before'" in result.stdout
    assert "11 of 12 requests" in result.stdout
    assert "1 request: HTTP 500: engine dead" in result.stdout
    assert "the figures are of the others" in " ".join(result.stdout.split())


def test_every_option_reaches_the_run(trace: str, tmp_path: Path) -> None:
    fake, template = ReplayVllm(), tmp_path / "t.jinja"
    template.write_text("{{ messages }}")
    options = (
        "--concurrency 2 --model tiny --max-tokens 2 --tool-choice none --limit 4 --no-reset --keep-text "
        "--seed 5 --timeout-s 20 --device rack --format openai-chat"
    )
    with served(fake) as url:
        result = run(
            *("replay", trace, "--base-url", url, "--label", "x", "--out", tmp_path / "o", "--json"),
            *("--chat-template", template, *options.split()),
        )
    document = json.loads(result.stdout)
    conditions = document["conditions"]
    assert (conditions["mode"], conditions["concurrency"], conditions["tool_choice"]) == (
        "concurrent",
        2,
        "none",
    )
    assert (conditions["max_tokens"], conditions["limit"], conditions["seed"]) == (2, 4, 5)
    assert (document["reset"]["state"], document["server"]["device"], fake.resets) == ("skipped", "rack", 0)
    assert [body["chat_template"] for body in fake.bodies] == ["{{ messages }}"] * 4
    assert all(row.text for row in read_run(tmp_path / "o").rows)


def test_recorded_timing_and_resume(trace: str, tmp_path: Path) -> None:
    fake = ReplayVllm(broken=dict.fromkeys(range(12), lambda _: httpx2.Response(500)))
    call = ("replay", trace, "--label", "x", "--out", tmp_path / "o", "--timing", "recorded")
    with served(fake) as url:
        broken = run(*call, "--base-url", url)
        assert "5 requests in a row failed" in one_line(broken.stderr)
        fake.broken.clear()
        assert "add --resume" in one_line(run(*call, "--base-url", url).stderr)
        result = run(*call, "--base-url", url, "--resume", "--json")
    document = json.loads(result.stdout)
    assert (document["conditions"]["mode"], document["resumed"]["restarts"]) == ("recorded", 1)


@pytest.mark.parametrize("variable", ["KEEPWARM_API_KEY", "OPENAI_API_KEY"])
def test_the_key_comes_from_the_environment_and_is_kept_nowhere(
    trace: str, tmp_path: Path, variable: str
) -> None:
    call = ("replay", trace, "--label", "x", "--out", tmp_path / "o")
    with served(ReplayVllm(key=KEY)) as url:
        locked = run(*call, "--base-url", url)
        result = run(*call, "--base-url", url, **{variable: KEY})
    assert "put its key into KEEPWARM_API_KEY" in one_line(locked.stderr)
    assert result.exit_code == 0
    assert KEY not in result.output
    assert not any(KEY.encode() in path.read_bytes() for path in (tmp_path / "o").iterdir())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--base-url http://localhost:1", "localhost:1"),
        ("--base-url nowhere", "write http://localhost:8000"),
        ("--base-url http://localhost:1 --concurrency 0", "--concurrency"),
        ("--base-url http://localhost:1 --timing now", "unknown"),
        ("--base-url http://localhost:1 --timing recorded --concurrency 2", "two modes"),
        ("--base-url http://localhost:1 --tool-choice auto", "recorded or none"),
        ("--base-url http://localhost:1 --chat-template no.jinja", "cannot read the chat template"),
        ("--base-url http://localhost:1 --label be/fore", "no short name"),
        ("--base-url http://localhost:1 --timeout-s 0", "seconds"),
        ("", "--base-url"),
    ],
)
def test_a_wrong_call_is_one_line_and_leaves_nothing(
    trace: str, tmp_path: Path, arguments: str, message: str
) -> None:
    result = run("replay", trace, "--label", "x", "--out", tmp_path / "o", *arguments.split())
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in one_line(result.stderr)
    assert [path.name for path in tmp_path.iterdir()] == ["trace.jsonl"]


def test_a_trace_that_is_not_there(tmp_path: Path) -> None:
    with served(ReplayVllm()) as url:
        result = run("replay", "no.jsonl", "--base-url", url, "--label", "x", "--out", tmp_path / "o")
    assert "cannot open 'no.jsonl'" in one_line(result.stderr)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("out", "where"), [(".", "here"), ("new/deep/run/", "here/new/deep/run"), ("x/../run", "here/run")]
)
def test_a_folder_by_any_name(
    trace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: str, where: str
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with served(ReplayVllm()) as url:
        result = run("replay", trace, "--base-url", url, "--label", "x", "--out", out, "--limit", "2")
    assert (result.exit_code, result.stderr) == (0, "")
    assert (tmp_path / where / "manifest.json").is_file()
