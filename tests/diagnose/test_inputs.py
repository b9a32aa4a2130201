"""Every format and every damaged file, from the file to the diagnosis or to one clear line."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from keepwarm._errors import InputError
from keepwarm.cli.app import app
from keepwarm.diagnose import diagnose
from keepwarm.diagnose.findings import Diagnosis
from keepwarm.diagnose.options import Options
from tests.diagnose.test_cases import FATES

# Formats that record whole chat bodies: the same six requests have to give the same prompts.
COMPLETE = ("openai-chat", "anthropic-messages", "openai-responses", "openai-batch", "litellm", "langfuse")


@pytest.fixture(scope="module")
def by_format(shared: Path) -> dict[str, tuple[dict[str, Any], Diagnosis]]:
    """Expectation and diagnosis of each file of ``formats/``."""
    found = {}
    for expectation in sorted((shared / "cases" / "formats").glob("*.expect.json")):
        expect = json.loads(expectation.read_bytes())
        (trace,) = (
            p
            for p in expectation.parent.glob(f"{expectation.name.removesuffix('.expect.json')}.*")
            if not p.name.endswith(".expect.json")
        )
        found[expect["format"]] = (expect, diagnose(str(trace)))
    return found


def test_every_format_is_diagnosed(by_format: dict[str, tuple[dict[str, Any], Diagnosis]]) -> None:
    assert len(by_format) >= 14
    for name, (expect, diagnosis) in by_format.items():
        assert diagnosis.input.format == name
        assert diagnosis.input.requests == expect["requests"] == len(diagnosis.rows), name
        assert diagnosis.input.skipped == (), name
        assert diagnosis.input.prompt_texts_known is expect["prompt_texts_known"], name
        assert diagnosis.input.prompt_complete is expect["prompt_complete"], name
        sessions = expect["sessions"] or expect.get("sessions_by_prefix")
        if sessions is not None:
            assert len({row.session for row in diagnosis.rows}) == sessions, name


def test_fates_add_up_in_every_format(by_format: dict[str, tuple[dict[str, Any], Diagnosis]]) -> None:
    for name, (_, diagnosis) in by_format.items():
        assert diagnosis.tokens.prompt > 0, name
        assert sum(getattr(diagnosis.tokens, fate) for fate in FATES) == diagnosis.tokens.prompt, name


def test_requests_without_text_are_simulated_and_not_read(
    by_format: dict[str, tuple[dict[str, Any], Diagnosis]],
) -> None:
    for name in ("mooncake", "bailian"):
        expect, diagnosis = by_format[name]
        assert not expect["prompt_texts_known"]
        assert diagnosis.tokens.diverged == 0
        assert all(row.break_path is None and row.break_here == "" for row in diagnosis.rows)
        assert [f.cause for f in diagnosis.findings if f.owner != "engine"] == []


def test_a_trace_of_hashes_brings_its_block_size(shared: Path) -> None:
    formats = shared / "cases" / "formats"
    for name in ("mooncake.jsonl", "bailian.jsonl"):
        first = json.loads((formats / name).read_text(encoding="utf-8").splitlines()[0])
        block_size = diagnose(str(formats / name)).cache.block_size
        assert len(first["hash_ids"]) == -(-first["input_length"] // block_size)


@pytest.mark.parametrize("sample", [None, 1.0])
def test_more_tokens_than_any_model_takes_are_a_damaged_record(
    shared: Path, tmp_path: Path, sample: float | None
) -> None:
    lines = (shared / "cases" / "formats" / "mooncake.jsonl").read_text(encoding="utf-8").splitlines()
    path = tmp_path / "huge.jsonl"
    path.write_text("\n".join([*lines, json.dumps({**json.loads(lines[-1]), "input_length": 3_000_000_000})]))
    said = rf"line {len(lines) + 1}: 3000000\d\d\d tokens in one request, more than any model takes"
    with pytest.raises(InputError, match=said):
        diagnose(str(path), Options(sample=sample))


def test_a_template_that_prints_no_tools_is_told_of(shared: Path, tmp_path: Path) -> None:
    template = tmp_path / "bare.jinja"
    template.write_text(
        "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}", encoding="utf-8"
    )
    trace = str(shared / "cases" / "formats" / "openai-chat.jsonl")
    assert "prints no tools" in diagnose(trace, Options(chat_template=str(template))).encoding.note
    assert "prints no tools" not in diagnose(trace).encoding.note


def test_chat_formats_give_the_same_prompts(by_format: dict[str, tuple[dict[str, Any], Diagnosis]]) -> None:
    prompts = {name: [row.tokens.prompt for row in by_format[name][1].rows] for name in COMPLETE}
    assert len(set(map(tuple, prompts.values()))) == 1, prompts
    fates = {name: by_format[name][1].tokens for name in COMPLETE}
    assert len(set(map(str, fates.values()))) == 1, fates


def run(*arguments: str) -> Result:
    return CliRunner(env={"COLUMNS": "100", "NO_COLOR": "1"}).invoke(app, list(arguments))


def damaged(shared: Path) -> list[tuple[Path, dict[str, Any]]]:
    expectations = sorted((shared / "cases" / "malformed").glob("*.expect.json"))
    return [
        (p.with_name(p.name.removesuffix(".expect.json")), json.loads(p.read_bytes())) for p in expectations
    ]


def test_damaged_files_end_as_expected(shared: Path) -> None:
    files = damaged(shared)
    assert len(files) >= 12
    for path, expect in files:
        result = run("diagnose", str(path), "--json")
        assert result.exit_code == expect["must_exit"], (path.name, result.output)
        if expect["must_exit"] == 2:
            assert_one_clear_line(path, result)
        else:
            assert_good_lines_used(path, expect, json.loads(result.stdout))


def test_the_terminal_report_of_damaged_files_lists_what_was_skipped(shared: Path) -> None:
    for path, expect in damaged(shared):
        result = run("diagnose", str(path))
        assert result.exit_code == expect["must_exit"], path.name
        if expect["must_exit"] == 2:
            assert_one_clear_line(path, result)
        elif expect["ok_requests"] is not None:
            assert re.search(r"^skipped +\d+ line", result.stdout, re.MULTILINE), path.name
            assert "line " in result.stdout


def assert_one_clear_line(path: Path, result: Result) -> None:
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert str(path) in line
    assert len(line) > len(str(path)) + 30
    assert "Traceback" not in result.stderr
    assert isinstance(result.exception, SystemExit)


def assert_good_lines_used(path: Path, expect: dict[str, Any], document: dict[str, Any]) -> None:
    used, skipped = document["input"]["requests"], document["input"]["skipped"]
    assert used >= expect.get("min_ok", 1), path.name
    if expect["ok_requests"] is not None:
        assert used == expect["ok_requests"], path.name
        lines = sum(1 for line in path.read_bytes().splitlines() if line.strip())
        assert used + len(skipped) == lines, path.name
    for skip in skipped:
        assert skip["line"] >= 1, path.name
        assert 10 < len(skip["reason"]) < 300, path.name
        assert "\n" not in skip["reason"]


HALF_A_PAIR = (
    r'{"body": {"model": "m", "messages": [{"role": "user", "content": "cut \ud83d here"}]}, "x": NaN}'
)


def test_half_a_character_is_a_bad_line_wherever_it_stands(tmp_path: Path) -> None:
    good = json.dumps({"body": {"model": "m", "messages": [{"role": "user", "content": "whole"}]}})
    path = tmp_path / "trace.jsonl"
    path.write_text(f"{good}\n{HALF_A_PAIR}\n{good}\n", encoding="utf-8")
    result = run("diagnose", str(path), "--json")
    assert result.exit_code == 0, result.exception
    document = json.loads(result.stdout)
    assert document["input"]["requests"] == 2
    assert [skip["line"] for skip in document["input"]["skipped"]] == [2]


def test_one_empty_prompt_is_a_diagnosis_too(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text('{"timestamp":0,"input_length":0,"output_length":1,"hash_ids":[]}\n', encoding="utf-8")
    result = run("diagnose", str(path), "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["tokens"]["prompt"] == 0
    assert document["hit_rate"] == document["hit_rate_if_fixed"] == 0
