"""The labelled cases: what a diagnosis has to say of them, and what holds for any diagnosis."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from keepwarm._json import to_json
from keepwarm.diagnose import diagnose
from keepwarm.diagnose.findings import TokenFates
from keepwarm.diagnose.report.as_json import diagnosis_document
from keepwarm.diagnose.rules import CAUSES
from tests.diagnose.judging import Case, confusion_table, options_of

FATES = ("hit", "forced", "partial", "cold", "diverged", "evicted")
RIGHT_SHARE = 0.95


@pytest.fixture(scope="module")
def breaks(cases: list[Case]) -> list[Case]:
    return [case for case in cases if case.label.cause is not None]


@pytest.fixture(scope="module")
def healthy(cases: list[Case]) -> list[Case]:
    return [case for case in cases if case.label.cause is None]


def test_the_cases_cover_every_cause(breaks: list[Case], healthy: list[Case]) -> None:
    assert {case.label.cause for case in breaks} == set(CAUSES)
    assert len(breaks) >= 48
    assert len(healthy) >= 10


def test_the_first_finding_names_cause_and_place(breaks: list[Case]) -> None:
    wrong = {
        case.name: (case.first and (case.first.cause, case.first.path))
        for case in breaks
        if not case.is_right
    }
    assert len(breaks) - len(wrong) >= RIGHT_SHARE * len(breaks), wrong


def test_enough_tokens_are_recoverable(breaks: list[Case]) -> None:
    short = {
        case.name: (case.recovered_tokens, case.label.min_recoverable_tokens)
        for case in breaks
        if case.recovered_tokens < case.label.min_recoverable_tokens
    }
    assert short == {}


def test_owner_and_fixable_are_those_of_the_label(breaks: list[Case]) -> None:
    for case in breaks:
        if case.first is not None and case.first.cause == case.label.cause:
            assert (case.first.owner, case.first.fixable) == (case.label.owner, case.label.fixable), case.name


def test_nothing_is_wrong_with_healthy_traffic(healthy: list[Case]) -> None:
    wrong = {
        case.name: [(f.cause, f.path) for f in case.diagnosis.findings if f.owner != "engine"]
        for case in healthy
        if any(f.owner != "engine" for f in case.diagnosis.findings)
    }
    assert wrong == {}


def test_the_confusion_table_counts_every_case_once(cases: list[Case]) -> None:
    table = confusion_table(cases, list(CAUSES))
    counts = [int(cell) for line in table.splitlines()[1:-1] for cell in line.split()[2:] if cell != "."]
    assert sum(counts) == len(cases)


def test_fates_add_up_for_each_request_and_in_total(cases: list[Case]) -> None:
    for case in cases:
        total = dict.fromkeys(TokenFates.__struct_fields__, 0)
        for row in case.diagnosis.rows:
            fates = {name: getattr(row.tokens, name) for name in total}
            assert min(fates.values()) >= 0, (case.name, row.id)
            assert sum(fates[name] for name in FATES) == fates["prompt"], (case.name, row.id)
            assert row.tokens.hit <= max(0, row.tokens.prompt - 1)
            total = {name: total[name] + fates[name] for name in total}
        assert total == {name: getattr(case.diagnosis.tokens, name) for name in total}, case.name


def test_losses_are_counted_once(cases: list[Case]) -> None:
    for case in cases:
        for site in case.diagnosis.call_sites:
            own = [f for f in case.diagnosis.findings if f.call_site == site.id]
            assert sum(f.recoverable_tokens - f.added_tokens for f in own) <= site.lost_tokens, case.name
            if all(f.added_tokens < f.requests * case.diagnosis.cache.block_size for f in own):
                assert sum(f.recoverable_tokens for f in own) <= site.lost_tokens, case.name
            assert all(f.recoverable_tokens >= 0 and f.added_tokens >= 0 for f in own)


def test_findings_are_numbered_from_the_most_recoverable_down(cases: list[Case]) -> None:
    for case in cases:
        findings = case.diagnosis.findings
        assert [f.id for f in findings] == [f"F{n}" for n in range(1, len(findings) + 1)]
        gains = [f.recoverable_tokens for f in findings]
        assert gains == sorted(gains, reverse=True), case.name


def test_findings_point_at_what_is_there(cases: list[Case]) -> None:
    for case in cases:
        diagnosis = case.diagnosis
        ids = {row.id for row in diagnosis.rows}
        sites = {site.id: site.requests for site in diagnosis.call_sites}
        for finding in diagnosis.findings:
            assert finding.evidence.request in ids, (case.name, finding.cause)
            assert finding.evidence.compared_with in ids | {None}
            assert 1 <= finding.requests <= sites[finding.call_site]
            assert 0 < finding.confidence <= 1
            named = [row for row in diagnosis.rows if finding.cause in row.causes]
            assert {row.call_site for row in named} >= {finding.call_site}
            if finding.token_offset is not None:
                assert 0 <= finding.token_offset <= max(row.tokens.prompt for row in diagnosis.rows)


def test_a_break_is_where_two_prompts_part(cases: list[Case]) -> None:
    for case in cases:
        for row in case.diagnosis.rows:
            if row.break_token is not None:
                assert row.baseline_request is not None
                assert row.break_token < row.tokens.prompt
                assert row.tokens.hit <= row.break_token, (case.name, row.id)


def test_call_sites_hold_every_request_once(cases: list[Case]) -> None:
    for case in cases:
        diagnosis = case.diagnosis
        assert sum(site.requests for site in diagnosis.call_sites) == diagnosis.input.requests
        assert sum(site.prompt_tokens for site in diagnosis.call_sites) == diagnosis.tokens.prompt
        assert len({site.name for site in diagnosis.call_sites}) == len(diagnosis.call_sites)


def test_rates_are_rates(cases: list[Case]) -> None:
    for case in cases:
        diagnosis = case.diagnosis
        assert 0 <= diagnosis.hit_rate <= diagnosis.hit_rate_if_fixed <= 1, case.name
        assert diagnosis.hit_rate == round(diagnosis.tokens.hit / diagnosis.tokens.prompt, 6)


_SAMPLE = ("clock-1", "example-order-1", "tool-set-2", "template-history-1", "expired-2", "retokenization-2")


@pytest.mark.parametrize("name", _SAMPLE)
def test_a_second_run_gives_the_same_bytes(cases: list[Case], name: str) -> None:
    (case,) = (case for case in cases if case.name == name)
    again = diagnose(str(case.path), options_of(case.label, case.path.parent))
    first, second = (to_json(diagnosis_document(d, revealed=True)) for d in (case.diagnosis, again))
    assert first == second
    assert again.rows == case.diagnosis.rows


_ALL_AS_JSON = """
import sys
from keepwarm.diagnose import diagnose
from keepwarm._json import to_json
from keepwarm.diagnose.report.as_json import diagnosis_document
for path in sys.argv[1:]:
    diagnosis = diagnose(path)
    sys.stdout.buffer.write(to_json(diagnosis_document(diagnosis, revealed=True)))
    sys.stdout.buffer.write(repr(diagnosis.rows).encode())
"""


def test_bytes_do_not_depend_on_the_order_of_sets(cases: list[Case]) -> None:
    names = ("tool-order-2", "tool-set-2", "salt-1", "model-switch-2", "example-order-2", "moving-block-2")
    paths: list[Path] = [case.path for case in cases if case.name in names]
    assert len(paths) == len(names)
    first, second = (
        subprocess.run(
            [sys.executable, "-c", _ALL_AS_JSON, *map(str, paths)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE,
            check=True,
        ).stdout
        for seed in ("1", "2")
    )
    at = next((i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), 0)
    assert first[at : at + 200] == second[at : at + 200], f"they part at byte {at}"
    assert len(first) == len(second)
