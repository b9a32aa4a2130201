from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from typer.testing import CliRunner, Result

from keepwarm.cli.app import app
from tests.canary.pressure.fake_vllm import FakeVllm, served
from tests.cli.test_commands import one_line

KEY = "sk-a-secret-that-nobody-may-see"


def press(*arguments: str, **environment: str | None) -> Result:
    quiet = {"COLUMNS": None, "NO_COLOR": None, "KEEPWARM_API_KEY": None, "OPENAI_API_KEY": None}
    return CliRunner(env={**quiet, **environment}).invoke(app, ["pressure", *arguments])


@pytest.fixture
def active() -> Iterator[str]:
    with served(FakeVllm("active")) as url:
        yield url


@pytest.fixture
def stock() -> Iterator[str]:
    with served(FakeVllm()) as url:
        yield url


def test_json_is_one_document_and_nothing_else(active: str, tmp_path: Path) -> None:
    out = tmp_path / "pressure.json"
    result = press("--base-url", active, "--flood", "1,2,4", "--json", "--out", str(out))
    assert (result.exit_code, result.stderr) == (0, "")
    document = json.loads(result.stdout)
    assert document["schema"] == "keepwarm.pressure/1"
    assert (document["mode"], document["hot_prefix_preserved"]) == ("active", True)
    assert out.read_text() == result.stdout


def test_every_option_reaches_the_run() -> None:
    fake = FakeVllm()
    options = "--flood 1,3 --hot-tokens 320 --flood-tokens 500 --model tiny --seed 7 --repeat 2 --json"
    with served(fake) as url:
        document = json.loads(press("--base-url", url, *options.split()).stdout)
    assert [step["flood_requests"] for step in document["steps"]] == [1, 3]
    assert [len(step["replays"]) for step in document["steps"]] == [2, 2]
    assert (document["hot_prefix_tokens"], document["flood_prompt_tokens"], document["seed"]) == (320, 500, 7)
    assert fake.bodies[0]["seed"] == 7


def test_the_report_names_the_loss_and_the_gate_refuses(stock: str) -> None:
    shown = press("--base-url", stock, "--flood", "4")
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert "Lost: of 800 cached tokens 0 were left" in shown.stdout
    refused = press("--base-url", stock, "--flood", "4", "--fail-unless-preserved")
    assert refused.exit_code == 1
    assert refused.stdout
    assert "not preserved: 0 of 800 cached tokens" in one_line(refused.stderr)


def test_the_gate_lets_a_kept_prefix_pass(active: str) -> None:
    result = press("--base-url", active, "--flood", "4,20", "--fail-unless-preserved")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "Preserved: the hot prefix stayed cached through 20 one-use requests." in result.stdout


def test_failed_requests_close_the_gate() -> None:
    fake = FakeVllm("active", broken={2: lambda _: httpx2.Response(500, text="engine dead")})
    with served(fake) as url:
        result = press("--base-url", url, "--flood", "4", "--fail-unless-preserved")
    assert result.exit_code == 1
    assert "1 request failed" in result.stderr


def test_contradicting_figures_are_shown_and_fail_the_run() -> None:
    with served(FakeVllm("active", other_hits=16)) as url:
        result = press("--base-url", url, "--flood", "1", "--json")
    assert result.exit_code == 2
    assert json.loads(result.stdout)["inconsistencies"]
    assert "the run is inconsistent: " in one_line(result.stderr)


@pytest.mark.parametrize("variable", ["KEEPWARM_API_KEY", "OPENAI_API_KEY"])
def test_the_key_comes_from_the_environment_and_is_never_shown(variable: str) -> None:
    with served(FakeVllm(key=KEY)) as url:
        locked = press("--base-url", url, "--flood", "1")
        assert "put its key into KEEPWARM_API_KEY" in one_line(locked.stderr)
        wrong = press("--base-url", url, "--flood", "1", **{variable: f"{KEY}-but-wrong"})
        result = press("--base-url", url, "--flood", "1", "--json", **{variable: KEY})
    assert wrong.exit_code == 2
    assert result.exit_code == 0
    assert KEY not in f"{result.output}{wrong.output}"


def test_keepwarms_own_variable_wins() -> None:
    with served(FakeVllm(key=KEY)) as url:
        result = press(
            "--base-url", url, "--flood", "1", KEEPWARM_API_KEY=KEY, OPENAI_API_KEY="sk-for-another-server"
        )
    assert result.exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--base-url http://localhost:1", "localhost:1"),
        ("--base-url nowhere", "write http://localhost:8000"),
        ("--base-url http://localhost:1 --flood 4,2", "does not rise"),
        ("--base-url http://localhost:1 --flood x", "positive whole numbers"),
        ("--base-url http://localhost:1 --repeat 0", "--repeat"),
        ("--base-url http://localhost:1 --out no/such/folder.json", "no folder"),
        ("--base-url http://localhost:1 --out /", "is a folder"),
        ("", "--base-url"),
    ],
)
def test_a_wrong_call_is_one_line(arguments: str, message: str) -> None:
    result = press(*arguments.split())
    assert result.exit_code == 2
    assert result.stdout == ""
    assert message in one_line(result.stderr)
