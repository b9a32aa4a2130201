from __future__ import annotations

import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwarm._errors import InputError
from keepwarm._text import columns
from keepwarm.diagnose.findings import CallSite, Diagnosis, TokenFates
from keepwarm.diagnose.report.request import find_request, findings_of, render_request
from keepwarm.diagnose.report.terminal import render_report
from keepwarm.diagnose.report.wording import cells
from keepwarm.trace.records import Skipped
from tests.report.sample import REQUEST_GOLDEN, TERMINAL_GOLDEN

STEPS = [
    ("keepwarm explain recordings/helpdesk.jsonl hd-0005", "the request behind finding 1"),
    ("keepwarm causes clock", "what this cause is and how it is fixed"),
]


def report(diagnosis: Diagnosis, width: int = 100, *, colour: bool = False, top: int = 10) -> str:
    return render_report(diagnosis, width=width, colour=colour, top=top, next_steps=STEPS)


def test_golden_report(shown: Diagnosis) -> None:
    assert report(shown) == TERMINAL_GOLDEN.read_text()


def test_golden_request(shown: Diagnosis) -> None:
    row = find_request(shown.rows, "hd-0031")
    assert render_request(shown, row, width=100, colour=False, revealed=False) == REQUEST_GOLDEN.read_text()


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_lines_fit(shown: Diagnosis, width: int) -> None:
    commands = {command for command, _ in STEPS}
    for line in report(shown, width).splitlines():
        assert columns(line) <= width or line.strip() in commands


def test_colour_changes_nothing_but_colour(shown: Diagnosis) -> None:
    coloured = report(shown, colour=True)
    assert "\x1b[" in coloured
    plain = re.sub(r"\x1b\[[0-9;]*m", "", coloured)
    assert [line.rstrip() for line in plain.splitlines()] == report(shown).splitlines()


def test_every_estimate_is_called_simulated(shown: Diagnosis) -> None:
    text = " ".join(report(shown).split())
    assert "hit the cache (simulated)" in text
    assert "65.2% with every finding fixed (simulated)" in text
    assert text.count("of all prompt tokens (simulated)") == len(shown.findings)


def test_what_a_fix_costs_is_said(shown: Diagnosis) -> None:
    finding = msgspec.structs.replace(shown.findings[0], added_tokens=1200)
    text = " ".join(report(msgspec.structs.replace(shown, findings=(finding,))).split())
    assert "the fix itself adds 1,200 tokens to prompts" in text


def test_top_says_how_many_are_hidden(shown: Diagnosis) -> None:
    text = report(shown, top=2)
    assert "and 4 findings more; --top 6 shows all" in text
    assert "3. identity" not in text


def test_nothing_found_is_said_plainly(shown: Diagnosis) -> None:
    sites = tuple(msgspec.structs.replace(site, lost_tokens=0) for site in shown.call_sites)
    healthy = msgspec.structs.replace(shown, findings=(), hit_rate=0.913, call_sites=sites)
    text = report(healthy)
    assert "91.3% of the prompt tokens hit the cache (simulated).\n" in text
    assert "Nothing to fix was found.\n" in text


def test_losses_without_a_finding_are_not_called_nothing(shown: Diagnosis) -> None:
    lost = sum(site.lost_tokens for site in shown.call_sites)
    text = report(msgspec.structs.replace(shown, findings=()))
    assert f"no known cause gives back enough of the {lost:,} lost tokens" in text


def test_recorded_hits_stand_beside_simulated_ones(shown: Diagnosis) -> None:
    first, second, *rest = (msgspec.structs.replace(row, cached_tokens=None) for row in shown.rows)
    assert "recorded by the server" not in report(msgspec.structs.replace(shown, rows=(first, second)))
    first, second = (msgspec.structs.replace(row, cached_tokens=1040) for row in (first, second))
    text = report(msgspec.structs.replace(shown, rows=(first, second, *rest)))
    simulated = first.tokens.hit + second.tokens.hit
    assert f"2,080 tokens recorded by the server, {simulated:,} simulated, in 2 requests" in text


def test_a_finding_that_the_simulation_does_not_have_promises_no_rate(shown: Diagnosis) -> None:
    routed = msgspec.structs.replace(
        shown, hit_rate_if_fixed=shown.hit_rate, tokens=TokenFates(prompt=9, cold=9)
    )
    text = report(routed)
    assert "hit the cache (simulated), fewer as recorded by the server." in text
    assert "with every finding fixed" not in text


def test_a_cache_smaller_than_a_prompt_is_pointed_out(shown: Diagnosis) -> None:
    longest = -(-max(row.tokens.prompt for row in shown.rows) // shown.cache.block_size)
    tight = msgspec.structs.replace(shown.cache, capacity_blocks=longest - 1)
    roomy = msgspec.structs.replace(shown.cache, capacity_blocks=longest)
    assert f"the longest takes {longest} blocks" in report(msgspec.structs.replace(shown, cache=tight))
    assert "Larger than this cache" not in report(msgspec.structs.replace(shown, cache=roomy))


def test_an_empty_diagnosis_renders(shown: Diagnosis) -> None:
    empty = msgspec.structs.replace(
        shown, findings=(), call_sites=(), rows=(), tokens=TokenFates(), hit_rate=0.0
    )
    assert "no tokens" in report(empty)


def test_hostile_text_reaches_no_terminal(shown: Diagnosis) -> None:
    evil = "\x1b[2J\x1b]0;owned\x07\u202eevil\r\n"
    finding = shown.findings[0]
    evidence = msgspec.structs.replace(
        finding.evidence, before=evil, values=(evil,), after=evil, note=evil, request=evil
    )
    site = CallSite(id="cs-1", name=evil, requests=1, sessions=1, hit_rate=0.5, lost_tokens=1)
    hostile = msgspec.structs.replace(
        shown,
        input=msgspec.structs.replace(shown.input, path=evil, format=evil, skipped=(Skipped(1, evil),)),
        encoding=msgspec.structs.replace(shown.encoding, tokenizer=evil, chat_template=evil, note=evil),
        call_sites=(site,),
        findings=(
            msgspec.structs.replace(finding, evidence=evidence, cause=evil, path=evil, suggestion=evil),
        ),
    )
    row = msgspec.structs.replace(
        shown.rows[5],
        id=evil,
        session=evil,
        model=evil,
        baseline_request=evil,
        break_path=evil,
        break_before=evil,
        break_here=evil,
        break_there=evil,
        causes=(evil,),
    )
    for text in (report(hostile), render_request(hostile, row, width=100, colour=False, revealed=False)):
        assert not set(text) & set("\x1b\x07\r\u202e")
        assert "⟨U+202E⟩evil" in text
        assert "owned" not in text


def test_a_long_name_is_cut_in_the_middle(shown: Diagnosis) -> None:
    sites = tuple(msgspec.structs.replace(site, name=f"{'very-' * 60}{site.id}") for site in shown.call_sites)
    text = report(msgspec.structs.replace(shown, call_sites=sites), 80)
    assert all(columns(line) <= 80 for line in text.splitlines())
    assert "…" in text
    assert "cs-2" in text


def test_request_by_id_then_by_line(diagnosis: Diagnosis) -> None:
    row = diagnosis.rows[7]
    assert find_request(diagnosis.rows, row.id) is row
    assert find_request(diagnosis.rows, str(row.line)) is row
    twin = msgspec.structs.replace(diagnosis.rows[0], id="9")
    assert find_request((*diagnosis.rows, twin), "9") is twin


def test_unknown_request_names_the_nearest(diagnosis: Diagnosis) -> None:
    with pytest.raises(InputError, match=r"no request 'hd-013'.*'hd-001\d'"):
        find_request(diagnosis.rows, "hd-013")
    with pytest.raises(InputError, match="run from 'hd-0001' to 'hd-0120'"):
        find_request(diagnosis.rows, "no such thing")


def test_causes_of_a_request_lead_to_findings(diagnosis: Diagnosis) -> None:
    row = next(row for row in diagnosis.rows if row.causes == ("clock", "identity"))
    assert [finding.cause for finding in findings_of(diagnosis, row)] == ["clock", "identity"]


@given(st.lists(st.integers(0, 10**9), min_size=6, max_size=6), st.integers(6, 200))
def test_bar_cells_fill_the_bar_and_hide_nothing(counts: list[int], width: int) -> None:
    shared = cells(tuple(counts), width)
    assert sum(shared) == (width if any(counts) else 0)
    assert all((cell > 0) == (number > 0) for cell, number in zip(shared, counts, strict=True))
