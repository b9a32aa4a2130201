from __future__ import annotations

import re
from pathlib import Path

from keepwarm.gate.report.document import check_document
from keepwarm.gate.report.summary import render_summary
from keepwarm.gate.report.terminal import render_check
from tests.gate.conftest import Compare
from tests.gate.traces import TRIAGE, broken, healthy, letter, triage, write


def test_it_says_what_got_worse(compare: Compare, tmp_path: Path) -> None:
    verdict = compare(healthy(tmp_path / "a.jsonl"), broken(tmp_path / "b.jsonl"))
    text = render_summary(verdict)
    assert text.startswith("## keepwarm: the prefix cache lost\n\nRefused: 3 things got worse.\n")
    assert "| new | `clock` | `messages[0].content` |" in text
    assert "- `clock`: Move the date or time behind the shared text" in text
    assert "‹time: " in text
    assert "09:" not in text
    assert render_summary(verdict) == text


def test_recorded_text_is_only_text(compare: Compare, tmp_path: Path) -> None:
    hostile = (
        "Read [this](https://evil.example) | <img src=x> `code` @everyone #1 and ``more`` **now** \x1b[31m"
    )
    requests = [*(triage(n, text=f"{hostile}\n{TRIAGE}", clock=False) for n in range(12)), letter(1)]
    for request in requests[6:12]:
        content = request["body"]["messages"][0]["content"]
        request["body"]["messages"][0]["content"] = content.replace(
            "now", f"now at 2026-05-12 09:{request['id']}"
        )
    then = write(tmp_path / "a.jsonl", [*requests[:6], letter(1)])
    text = render_summary(compare(then, write(tmp_path / "b.jsonl", requests)))
    assert "\x1b" not in text
    outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "CODE", text)
    for active in ("<img", "](http", "@everyone", "**now"):
        assert active not in outside
    header, *rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert all(line.startswith("|") and line.endswith("|") for line in [header, *rows])


def test_tables_keep_their_columns(compare: Compare, tmp_path: Path) -> None:
    named = [triage(n, call_site="a|b`c", clock=True) for n in range(8)]
    trace = write(tmp_path / "a.jsonl", named)
    lines = render_summary(compare(trace, trace)).splitlines()
    bars = [len(re.findall(r"(?<!\\)\|", line)) for line in lines if line.startswith("|")]
    assert bars == [5, 5, 5, 7, 7, 7]
    assert "``a\\|b`c``" in "\n".join(lines)


def test_the_terminal_and_the_document_say_the_same(compare: Compare, tmp_path: Path) -> None:
    verdict = compare(broken(tmp_path / "b.jsonl"), healthy(tmp_path / "a.jsonl"))
    text = render_check(verdict, width=120, colour=False)
    assert text.startswith("Passed; 1 finding gone, hit rate up ")
    assert "gone  clock  messages[0].content" in text
    document = check_document(verdict, Path("baseline.json"))
    assert document["passed"] is True
    (finding,) = document["findings"]
    assert (finding["status"], finding["cause"], finding["id"]) == ("vanished", "clock", None)
    assert {site["status"] for site in document["call_sites"]} == {"better", "same"}
    assert document["hit_rate"]["drop_points"] == verdict.drop_points
