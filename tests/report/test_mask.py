from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwarm._json import to_json
from keepwarm.diagnose import Options, diagnose
from keepwarm.diagnose.findings import CallSite, Diagnosis, Evidence, Finding, Owner, RequestRow, TokenFates
from keepwarm.diagnose.report.as_json import diagnosis_document
from keepwarm.diagnose.report.html import to_html
from keepwarm.diagnose.report.mask import mask, masked, scrubber
from keepwarm.diagnose.report.terminal import render_report
from keepwarm.trace.records import Skipped
from tests.report.sample import helpdesk, recorded_values, to_parquet

# Letters that no text of ours uses, so that finding one in an output means a leak.
VALUES = st.text("жщюяЖЩЮЯ0123456789 :-", min_size=6, max_size=40).filter(
    lambda v: sum(map(str.isalpha, v)) >= 3
)


def all_outputs(diagnosis: Diagnosis) -> str:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(pa.BufferReader(to_parquet(diagnosis.rows)))
    return "\n".join(
        [
            render_report(diagnosis, width=5000, colour=False, top=100, next_steps=[]),
            to_json(diagnosis_document(diagnosis, revealed=False)).decode(),
            to_html(diagnosis, revealed=False).decode(),
            str(table.to_pylist()),
        ]
    )


def test_one_rule() -> None:
    assert mask("2026-03-02 09:00:00", "time") == "‹time: 19 chars›"
    assert mask("x") == "‹text: 1 char›"


@pytest.mark.parametrize("kept", ["", " ", "\n\n", "‹time: 19 chars›"])
def test_what_tells_nothing_stays(kept: str) -> None:
    assert mask(kept, "time") == kept


@given(st.text(max_size=60), st.sampled_from([None, "time", "id"]))
def test_masking_twice_is_masking_once(value: str, kind: str | None) -> None:
    assert mask(mask(value, kind), kind) == mask(value, kind)


def test_no_value_of_the_sample_appears_anywhere() -> None:
    diagnosis = helpdesk()
    output = all_outputs(masked(diagnosis))
    assert not [value for value in recorded_values(diagnosis) if value in output]
    # What rows record around a break is as private as the findings' values.
    for row in diagnosis.rows:
        assert not row.break_here or row.break_here not in output


def test_secrets_in_stable_text_are_covered(shown: Diagnosis) -> None:
    output = all_outputs(shown)
    assert "duty-desk@larkspur-home.example" not in output
    assert "sk-test-51JxQ7aVbT9uQeWm2Kd8" not in output
    assert "You are the support assistant of Larkspur Home." in output


def test_values_appear_when_revealed(diagnosis: Diagnosis) -> None:
    output = to_json(diagnosis_document(diagnosis, revealed=True)).decode()
    assert all(value in output for value in recorded_values(diagnosis))


@given(st.lists(VALUES, min_size=1, max_size=4, unique=True), st.data())
def test_no_value_appears_wherever_it_is_repeated(values: list[str], data: st.DataObject) -> None:
    def text() -> str:
        return f"Some words {data.draw(st.sampled_from(values))} and more"

    finding = Finding(
        id="F1",
        cause="identity",
        owner=Owner.APP,
        fixable=True,
        call_site="a",
        path="messages[0].content",
        token_offset=3,
        requests=2,
        recoverable_tokens=32,
        confidence=0.9,
        evidence=Evidence(before=text(), values=tuple(values), after=text(), note=text()),
        suggestion=text(),
        slot_type="identity",
    )
    row = RequestRow(
        index=0,
        line=1,
        id="r1",
        session="s",
        call_site="a",
        model="m",
        time_s=None,
        tokens=TokenFates(),
        break_before=text(),
        break_here=text(),
        break_there=text(),
        causes=("identity",),
    )
    base = helpdesk()
    diagnosis = msgspec.structs.replace(
        base,
        input=msgspec.structs.replace(base.input, skipped=(Skipped(2, text()),)),
        call_sites=(CallSite(id="a", name=text(), requests=1, sessions=1, hit_rate=0.0, lost_tokens=0),),
        findings=(finding,),
        rows=(row,),
    )
    document = msgspec.json.encode(masked(diagnosis)).decode()
    leaked = [v for v in values if v.strip() in document]
    assert not leaked


def test_a_short_value_does_not_tear_words_apart() -> None:
    base = helpdesk()
    evidence = Evidence(before="The cart holds ", values=("art", "42"), after=" items of art; 42 left")
    finding = msgspec.structs.replace(base.findings[0], evidence=evidence, slot_type="counter")
    shown = masked(msgspec.structs.replace(base, findings=(finding,), rows=())).findings[0].evidence
    assert shown.before == "The cart holds "
    assert shown.after == " items of ‹counter: 3 chars›; 42 left"


def test_context_of_a_request_shows_only_what_a_finding_calls_stable() -> None:
    base = helpdesk()
    row = msgspec.structs.replace(
        next(r for r in base.rows if r.call_site == "cs-1" and r.break_before),
        break_before="Customer Oswin Partridge.\nYou are the support assistant of Larkspur Home. It is now ",
        break_here="2026-03-02 09:31:44.\n\nAnswer politely and in Welsh",
    )
    shown = masked(msgspec.structs.replace(base, rows=(row,))).rows[0]
    assert shown.break_before == (
        "‹time: 26 chars›You are the support assistant of Larkspur Home. It is now "
    )
    assert shown.break_here == "‹time: 19 chars›.\n\nAnswer politely and in ‹time: 5 chars›"


def test_a_conversation_is_covered_even_where_it_is_stable() -> None:
    base = helpdesk()
    evidence = Evidence(before="Thanks, Oswin. ", values=("\n\n", ""), after=" My number is Q-7.")
    finding = msgspec.structs.replace(base.findings[0], path="messages[3].content", evidence=evidence)
    shown = masked(msgspec.structs.replace(base, findings=(finding,), rows=())).findings[0].evidence
    assert (shown.before, shown.after) == ("‹text: 15 chars›", "‹text: 18 chars›")
    assert shown.values == evidence.values


def test_a_model_name_is_a_setting_and_stays() -> None:
    base = helpdesk()
    finding = msgspec.structs.replace(
        base.findings[0],
        path="model",
        evidence=Evidence(values=("tiny-8b", "large-70b")),
        suggestion="Stay with large-70b",
    )
    shown = masked(msgspec.structs.replace(base, findings=(finding,))).findings[0]
    assert shown == finding


def test_planted_canaries_reach_no_output(shared: Path) -> None:
    for trace in sorted((shared / "cases" / "secrets").glob("*.jsonl")):
        canaries = json.loads(trace.with_suffix(".canaries.json").read_text())
        output = all_outputs(masked(diagnose(str(trace))))
        assert not [canary for canary in canaries if canary in output], trace.name


def test_the_record_can_still_be_found(diagnosis: Diagnosis, shown: Diagnosis) -> None:
    assert [row.id for row in shown.rows] == [row.id for row in diagnosis.rows]
    assert [f.path for f in shown.findings] == [f.path for f in diagnosis.findings]
    assert [f.evidence.request for f in shown.findings] == [f.evidence.request for f in diagnosis.findings]


def test_lengths_of_tokens_stay_only_where_their_text_does() -> None:
    before = "You sort messages. Current time: "
    row = msgspec.structs.replace(
        helpdesk().rows[0],
        call_site="one",
        causes=("clock",),
        break_before=before,
        break_before_tokens=(4, len(before) - 4),
        break_here="09:40 жщю",
        break_here_tokens=(2, 1, 6),
        break_there="",
        break_there_tokens=(),
    )
    finding = msgspec.structs.replace(
        helpdesk().findings[0],
        call_site="one",
        cause="clock",
        path="messages[0].content",
        evidence=Evidence(before=before),
    )
    (shown,) = masked(msgspec.structs.replace(helpdesk(), findings=(finding,), rows=(row,))).rows
    assert (shown.break_before, shown.break_before_tokens) == (before, row.break_before_tokens)
    assert shown.break_here.startswith("‹")
    assert shown.break_here_tokens == ()


def test_credentials_in_an_address_are_covered_and_paths_stay() -> None:
    options = Options(
        tokenizer="https://me:hunter22x@models.example/v1", chat_template="/home/ada/chat.jinja"
    )
    shown = masked(msgspec.structs.replace(helpdesk(), options=options)).options
    assert "hunter22x" not in str(shown.tokenizer)
    assert str(shown.tokenizer).startswith("https://")
    assert shown.chat_template == options.chat_template
    assert masked(helpdesk()).options == helpdesk().options


def test_more_values_can_be_covered() -> None:
    scrub = scrubber((), {"Lucía Ferrer": "identity"})
    assert scrub("Dear Lucía Ferrer, dear Lucía") == "Dear ‹identity: 12 chars›, dear Lucía"
