from __future__ import annotations

import json
from pathlib import Path

import pytest

from keepwarm import __version__
from keepwarm._errors import IntegrityError, TraceError
from keepwarm.diagnose.options import Options
from tests.cli.conftest import Diagnoser, Keepwarm
from tests.report.sample import TERMINAL_GOLDEN, helpdesk, recorded_values

TRACE = "recordings/helpdesk.jsonl"


def one_line(text: str) -> str:
    """The message, after checking that it is one line of ours."""
    assert text.startswith("keepwarm: ")
    assert text.endswith("\n")
    assert text.count("\n") == 1
    assert "Traceback" not in text
    return text


def test_version(keepwarm_cli: Keepwarm) -> None:
    result = keepwarm_cli("--version")
    assert (result.exit_code, result.stdout) == (0, f"keepwarm {__version__}\n")


def test_report_on_standard_output(keepwarm_cli: Keepwarm, diagnoser: Diagnoser) -> None:
    result = keepwarm_cli("diagnose", TRACE)
    assert result.exit_code == 0
    assert result.stderr == ""
    body = TERMINAL_GOLDEN.read_text().split("Next ───")[0]
    assert result.stdout.startswith(body)
    assert f"keepwarm explain {TRACE} hd-0005" in result.stdout


def test_options_reach_the_diagnosis(keepwarm_cli: Keepwarm, diagnoser: Diagnoser) -> None:
    options = (
        "--format openai-chat --tokenizer http://localhost:8000 --chat-template t.jinja --block-size 32 "
        "--capacity-blocks 127 --ttl-s 300"
    )
    result = keepwarm_cli("diagnose", TRACE, *options.split())
    expected = Options(
        format="openai-chat",
        tokenizer="http://localhost:8000",
        chat_template="t.jinja",
        block_size=32,
        capacity_blocks=127,
        ttl_s=300.0,
    )
    assert diagnoser.calls == [(TRACE, expected)]
    # The commands to type next ask for the same.
    assert f"keepwarm explain {TRACE} {options} hd-0005" in result.stdout


def test_json_and_nothing_else(keepwarm_cli: Keepwarm, diagnoser: Diagnoser) -> None:
    first, second = (keepwarm_cli("diagnose", TRACE, "--json") for _ in range(2))
    document = json.loads(first.stdout)
    assert document["schema"] == "keepwarm.diagnosis/1"
    assert "rows" not in document
    assert first.stdout_bytes == second.stdout_bytes
    assert first.stderr == ""


@pytest.mark.parametrize(
    "command", [["diagnose", TRACE], ["diagnose", TRACE, "--json"], ["explain", TRACE, "hd-0031"]]
)
def test_values_only_with_reveal(keepwarm_cli: Keepwarm, diagnoser: Diagnoser, command: list[str]) -> None:
    values = recorded_values(helpdesk()) | {row.break_here for row in helpdesk().rows if row.break_here}
    hidden, revealed = keepwarm_cli(*command).stdout, keepwarm_cli(*command, "--reveal").stdout
    assert not [value for value in values if value in hidden]
    assert [value for value in values if value in revealed]


@pytest.mark.parametrize(("rate", "code"), [("0.1", 0), ("0.133", 0), ("0.2", 1), ("1", 1), ("0", 0)])
def test_gate(keepwarm_cli: Keepwarm, diagnoser: Diagnoser, rate: str, code: int) -> None:
    result = keepwarm_cli("diagnose", TRACE, "--json", "--fail-under", rate)
    assert result.exit_code == code
    assert json.loads(result.stdout)["schema"] == "keepwarm.diagnosis/1"
    if code:
        assert f"is below --fail-under {rate}" in one_line(result.stderr)
    else:
        assert result.stderr == ""


def test_out(keepwarm_cli: Keepwarm, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "report"
    trace = str(Path(__file__).parents[2] / "examples" / "helpdesk" / "traffic.jsonl.gz")
    result = keepwarm_cli("diagnose", trace, "--out", str(out))
    assert result.exit_code == 0
    assert sorted(path.name for path in out.iterdir()) == [
        "diagnosis.json",
        "map.parquet",
        "report.html",
        "requests.parquet",
        "templates.json",
    ]
    assert str(out / "report.html") in result.stdout
    printed = keepwarm_cli("diagnose", trace, "--json").stdout_bytes
    assert (out / "diagnosis.json").read_bytes() == printed


def test_out_that_is_a_file_is_refused_before_the_work(
    keepwarm_cli: Keepwarm, diagnoser: Diagnoser, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    result = keepwarm_cli("diagnose", TRACE, "--out", str(file))
    assert result.exit_code == 2
    assert "is not a folder" in one_line(result.stderr)
    assert not diagnoser.calls
    assert file.read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "Missing command"),
        (["diagnos"], "No such command 'diagnos'"),
        (["diagnose"], "Missing argument 'TRACE'"),
        (["diagnose", TRACE, "more"], "unexpected extra argument"),
        (["diagnose", TRACE, "--blocksize", "16"], "No such option"),
        (["diagnose", TRACE, "--block-size"], "requires an argument"),
        (["diagnose", TRACE, "--block-size", "many"], "--block-size"),
        (["diagnose", TRACE, "--block-size", "0"], "--block-size"),
        (["diagnose", TRACE, "--capacity-blocks", "-5"], "--capacity-blocks"),
        (["diagnose", TRACE, "--fail-under", "50"], "write 0.5 for 50%"),
        (["diagnose", TRACE, "--fail-under", "nan"], "--fail-under"),
        (["diagnose", TRACE, "--fail-under", "-0.1"], "--fail-under"),
        (["diagnose", TRACE, "--ttl-s", "0"], "--ttl-s"),
        (["diagnose", TRACE, "--ttl-s", "inf"], "--ttl-s"),
        (["diagnose", TRACE, "--top", "0"], "--top"),
        (["explain", TRACE], "Missing argument 'REQUEST'"),
        (["causes", "a", "b"], "unexpected extra argument"),
    ],
)
def test_a_wrong_call_is_one_line(
    keepwarm_cli: Keepwarm, diagnoser: Diagnoser, arguments: list[str], says: str
) -> None:
    result = keepwarm_cli(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert says.lower() in one_line(result.stderr).lower()
    assert "--help'" in result.stderr
    assert not diagnoser.calls


def test_a_place_to_spill_needs_a_budget(keepwarm_cli: Keepwarm, diagnoser: Diagnoser) -> None:
    result = keepwarm_cli("diagnose", TRACE, "--spill", "there")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--spill says nothing without a budget; add --memory SIZE" in one_line(result.stderr)
    assert not diagnoser.calls


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (
            TraceError("no usable\nrequest in 'x.jsonl'; \x1b[2Jlook"),
            2,
            "no usable request in 'x.jsonl'; \\x1b[2Jlook",
        ),
        (PermissionError(13, "Permission denied", "t.jinja"), 2, "cannot use 't.jinja': Permission denied"),
        (MemoryError(), 2, "out of memory"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (IntegrityError("7 blocks are both free and cached"), 70, "a bug in keepwarm"),
        (ZeroDivisionError("division by zero"), 70, "a bug in keepwarm"),
        (RecursionError("too deep"), 2, "nested deeper than Python can follow"),
    ],
)
@pytest.mark.parametrize("command", [["diagnose", TRACE, "--json"], ["explain", TRACE, "1"]])
def test_an_error_is_one_line(
    keepwarm_cli: Keepwarm,
    diagnoser: Diagnoser,
    command: list[str],
    error: BaseException,
    code: int,
    says: str,
) -> None:
    diagnoser.outcome = error
    result = keepwarm_cli(*command)
    assert result.exit_code == code
    assert result.stdout == ""
    assert says in one_line(result.stderr)


def test_explain_by_id_and_by_line(keepwarm_cli: Keepwarm, diagnoser: Diagnoser) -> None:
    by_id, by_line = keepwarm_cli("explain", TRACE, "hd-0031"), keepwarm_cli("explain", TRACE, "32")
    assert by_id.exit_code == 0
    assert by_id.stdout == by_line.stdout
    assert "F1: 52,496 recoverable tokens (simulated)" in by_id.stdout


def test_explain_json(keepwarm_cli: Keepwarm, diagnoser: Diagnoser) -> None:
    document = json.loads(keepwarm_cli("explain", TRACE, "hd-0031", "--json").stdout)
    assert document["schema"] == "keepwarm.explanation/1"
    assert [finding["cause"] for finding in document["findings"]] == ["clock"]


def test_explain_unknown_request(keepwarm_cli: Keepwarm, diagnoser: Diagnoser) -> None:
    result = keepwarm_cli("explain", TRACE, "hd-0x31")
    assert result.exit_code == 2
    assert "'hd-0031'" in one_line(result.stderr)


def test_causes(keepwarm_cli: Keepwarm) -> None:
    table = keepwarm_cli("causes")
    assert table.exit_code == 0
    assert "clock" in table.stdout
    document = json.loads(keepwarm_cli("causes", "--json").stdout)
    assert document["schema"] == "keepwarm.causes/1"
    assert [cause["code"] for cause in document["causes"]].count("clock") == 1


def test_one_cause(keepwarm_cli: Keepwarm) -> None:
    (cause,) = json.loads(keepwarm_cli("causes", "clock", "--json").stdout)["causes"]
    page = keepwarm_cli("causes", "clock")
    assert page.exit_code == 0
    assert cause["documentation"] in page.stdout
    assert keepwarm_cli("causes", "CLOCK").stdout == page.stdout


def test_unknown_cause(keepwarm_cli: Keepwarm) -> None:
    result = keepwarm_cli("causes", "clok")
    assert result.exit_code == 2
    assert "did you mean clock" in one_line(result.stderr)


@pytest.mark.parametrize(
    ("columns", "widest"), [("80", 80), ("120", 120), ("9", 60), ("9999", 140), ("x", 100)]
)
def test_width(keepwarm_cli: Keepwarm, diagnoser: Diagnoser, columns: str, widest: int) -> None:
    lines = keepwarm_cli("diagnose", TRACE, COLUMNS=columns).stdout.splitlines()
    assert len(lines[0]) == widest


def test_colour_only_where_wanted(keepwarm_cli: Keepwarm, diagnoser: Diagnoser) -> None:
    assert "\x1b[" not in keepwarm_cli("diagnose", TRACE).stdout
    assert "\x1b[" in keepwarm_cli("diagnose", TRACE, FORCE_COLOR="1").stdout
    assert "\x1b[" not in keepwarm_cli("diagnose", TRACE, FORCE_COLOR="1", NO_COLOR="1").stdout
