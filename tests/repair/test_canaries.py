"""Nothing that the labelled cases plant may be read in what leaves: reports, tasks, errors, traces."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from keepwarm._errors import KeepwarmError
from keepwarm._json import plain, to_json
from keepwarm.diagnose import Options
from keepwarm.diagnose.engine import Examination, examine
from keepwarm.diagnose.report.as_json import diagnosis_document, request_document
from keepwarm.diagnose.report.files import report_of, write_report
from keepwarm.diagnose.report.mask import masked
from keepwarm.diagnose.report.request import findings_of, render_request
from keepwarm.diagnose.report.terminal import render_report
from keepwarm.repair.export import Order, make_task
from keepwarm.repair.markdown import to_markdown
from keepwarm.repair.redaction import Redactor
from keepwarm.repair.redaction.recorded import recorded_values
from tests.repair.checkouts import checkout


def planted(trace: Path) -> list[str]:
    return list(json.loads(trace.with_suffix(".canaries.json").read_text()))


def leaked(output: str, canaries: list[str]) -> list[str]:
    """Canaries that ``output`` shows as they are, with other spacing, or escaped for JSON or a page."""
    squeezed = re.sub(r"\s+", "", output)
    views = {output, squeezed, html.unescape(output), re.sub(r"\s+", "", html.unescape(output))}
    spellings = [
        (canary, {canary, re.sub(r"\s+", "", canary), json.dumps(canary)[1:-1], html.escape(canary)})
        for canary in canaries
    ]
    return [canary for canary, forms in spellings if any(form in view for form in forms for view in views)]


@pytest.fixture(scope="module")
def traces(shared: Path) -> list[Path]:
    return sorted((shared / "cases" / "secrets").glob("*.jsonl"))


@pytest.fixture(scope="module")
def examined(traces: list[Path]) -> dict[Path, Examination]:
    return {trace: examine(str(trace)) for trace in traces}


def reports(examination: Examination, folder: Path) -> Iterator[str]:
    shown = masked(examination.diagnosis)
    yield render_report(shown, width=5000, colour=False, top=100, next_steps=[])
    yield render_report(shown, width=60, colour=True, top=100, next_steps=[])
    yield to_json(diagnosis_document(shown, revealed=False)).decode()
    for row in shown.rows:
        yield render_request(shown, row, width=400, colour=False, revealed=False)
        yield to_json(request_document(shown, row, findings_of(shown, row), revealed=False)).decode()
    for file in write_report(report_of(examination, revealed=False), folder, revealed=False):
        yield file.read_bytes().decode("utf-8", "replace")


def test_the_cases_are_there(traces: list[Path]) -> None:
    assert len(traces) >= 2
    for trace in traces:
        raw = trace.read_text()
        assert len(leaked(raw, planted(trace))) >= 20, "the check must see what is plainly there"


def test_reports_without_reveal(examined: dict[Path, Examination], tmp_path: Path) -> None:
    for trace, examination in examined.items():
        for output in reports(examination, tmp_path / trace.stem):
            assert leaked(output, planted(trace)) == []


def test_a_whole_trace_redacted(examined: dict[Path, Examination]) -> None:
    """Every request, message and tool result; names of people are values of slots."""
    for trace, examination in examined.items():
        redactor = Redactor(recorded_values(examination.accounts).all())
        shown = redactor.redact(trace.read_text())
        assert leaked(shown, planted(trace)) == []
        assert redactor.redact(shown) == shown
        assert len(shown) > 0.7 * len(trace.read_text()), "what is no secret stays readable"


def test_texts_of_a_trace_redacted_one_by_one(examined: dict[Path, Examination]) -> None:
    for trace, examination in examined.items():
        redactor = Redactor(recorded_values(examination.accounts).all())
        shown = [
            redactor.redact(text)
            for line in trace.read_text().splitlines()
            for text in texts(json.loads(line))
        ]
        assert leaked("\n".join(shown), planted(trace)) == []


def texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from texts(inner)


def test_every_task(examined: dict[Path, Examination], tmp_path: Path) -> None:
    """Also where the checkout itself holds the recorded texts, canaries included."""
    exported = 0
    for trace, examination in examined.items():
        body = json.loads(trace.read_text().splitlines()[0])["body"]
        source = f"SYSTEM = {body['messages'][0]['content']!r}\n"
        root = checkout(
            tmp_path / trace.stem, {"app/prompts.py": source, "notes.md": trace.read_text()[:9000]}
        )
        for finding in examination.diagnosis.findings:
            task = make_task(Order(finding=finding.id, trace=str(trace), repository=root))
            exported += 1
            assert task.locations
            for output in (to_markdown(task), to_json(plain(task)).decode()):
                assert leaked(output, planted(trace)) == []
    assert exported >= 1


def test_errors(traces: list[Path], tmp_path: Path) -> None:
    """A damaged trace of secrets says what is wrong with a line without repeating it."""
    said = []
    for trace in traces:
        lines = trace.read_text().splitlines()
        damaged = {
            "cut": "\n".join(line[: len(line) // 2] for line in lines),
            "half": "\n".join([*lines[:6], *(line[:-40] for line in lines[6:])]),
            "keys": "\n".join(line.replace('"body"', '"bodies"') for line in lines),
            "roles": "\n".join(line.replace('"messages":[', '"messages":["x",') for line in lines),
            "numbers": "\n".join(line.replace('"content":"', '"content":7,"was":"') for line in lines),
        }
        for name, content in damaged.items():
            file = tmp_path / f"{trace.stem}-{name}.jsonl"
            file.write_text(content)
            try:
                shown = masked(examine(str(file), Options()).diagnosis)
                said.append(to_json(diagnosis_document(shown, revealed=False)).decode())
            except KeepwarmError as error:
                said.append(f"{error} {error.__cause__}")
        root = checkout(tmp_path / f"root-{trace.stem}", {"a.txt": "nothing"})
        with pytest.raises(KeepwarmError) as refusal:
            make_task(Order(finding="F99", trace=str(trace), repository=root))
        said.append(str(refusal.value))
        assert [leaked(text, planted(trace)) for text in said if leaked(text, planted(trace))] == []
    assert len(said) == 6 * len(traces)
