"""Templates of call sites: pieces in prompt order, slots in them, values side by side, nothing private."""

from __future__ import annotations

import functools
import itertools
from pathlib import Path
from typing import Any

import msgspec
import pytest

from keepwarm.diagnose.engine import Examination, examine
from keepwarm.diagnose.findings import Diagnosis
from keepwarm.diagnose.report.mask import MASK
from keepwarm.diagnose.report.reading import read_templates
from keepwarm.diagnose.report.template_file import (
    END_CHARS,
    VALUE_CHARS,
    masked_templates,
    templates_bytes,
    templates_of,
)
from keepwarm.diagnose.template_builder import SAMPLED, sampled, site_template
from keepwarm.diagnose.template_pieces import placed_pieces, slot_ids, text_of_row, tool_slot_ids
from keepwarm.diagnose.templates import SlotPiece, Template, Templates, TextPiece
from keepwarm.diagnose.view import SiteView
from keepwarm.trace.records import HashedPrompt, Request
from tests.diagnose.building import LONG, chat, message, request, traffic_of, view_of
from tests.diagnose.judging import Case

HELPDESK = Path(__file__).parents[2] / "examples" / "helpdesk" / "traffic.jsonl.gz"


@functools.cache
def helpdesk() -> Examination:
    return examine(str(HELPDESK))


@functools.cache
def shown(*, revealed: bool) -> Templates:
    return templates_of(helpdesk(), revealed=revealed)


def views(examination: Examination) -> list[SiteView]:
    accounts = examination.accounts
    return [SiteView(accounts.traffic, site, accounts.lineage, accounts.measured) for site in accounts.sites]


def template_of(items: list[Request]) -> Template:
    return site_template(view_of(traffic_of(items)), ())


def texts(template: Template) -> list[str]:
    return [piece.text for piece in template.pieces if isinstance(piece, TextPiece)]


def asked(number: int, system: str, ask: str = "Ask?", **fields: Any) -> Request:
    return request(number, chat(ask, system=system), **{"session": f"s{number}", **fields})


CLOCKS = ("17:46:40", "17:46:50", "17:47:00", "17:47:10")  # when the requests are sent


def test_pieces_laid_together_are_the_text_of_the_first_request() -> None:
    items = [asked(n, f"{LONG}\nIt is {clock}.\n{LONG}") for n, clock in enumerate(CLOCKS)]
    view = view_of(traffic_of(items))
    template = site_template(view, ())
    (slot,) = template.slots
    assert (slot.id, slot.type, slot.movable) == ("messages[0].content#1", "time", True)
    assert (slot.requests, slot.distinct, slot.finding) == (4, 4, None)
    assert [request.values for request in template.requests] == [{slot.id: clock} for clock in CLOCKS]
    for row, aligned in zip(view.rows, template.requests, strict=True):
        said = "".join(
            aligned.values[piece.slot] if isinstance(piece, SlotPiece) else piece.text
            for piece in template.pieces
            if piece.path == slot.path
        )
        assert said == text_of_row(view, row, slot_ids(view)[slot.id].place)
    assert slot.token_offset is not None
    prompt = view.traffic.prompt(0)
    start = int(prompt.char_starts[slot.token_offset])
    assert prompt.rendered.text[start:].startswith(CLOCKS[0][0])


def test_places_and_pieces_are_the_same_in_number_and_order() -> None:
    for view, template in zip(views(helpdesk()), shown(revealed=True).templates, strict=True):
        placed = placed_pieces(view)
        assert [(p.path, p.role, p.slot) for p in placed] == [
            (p.path, p.role, p.slot if isinstance(p, SlotPiece) else None) for p in template.pieces
        ]


def test_slot_ids_are_unique_stable_and_lead_to_the_slot(cases: list[Case]) -> None:
    for case in cases:
        if case.name not in ("retrieved-context-2", "tool-order-1", "identity-1", "clock-2"):
            continue
        first, second = (examine(str(case.path)) for _ in range(2))
        for view, again in zip(views(first), views(second), strict=True):
            ids = slot_ids(view)
            assert list(ids.values()) == list(view.slots)
            assert list(ids) == list(slot_ids(again))
            assert not ids.keys() & tool_slot_ids(view).keys()


def test_every_template_of_every_case_holds_together(cases: list[Case]) -> None:
    for case in cases:
        check(case.report.templates, case.diagnosis)


def check(templates: Templates, diagnosis: Diagnosis) -> None:
    assert [t.call_site for t in templates.templates] == [site.id for site in diagnosis.call_sites]
    for template, site in zip(templates.templates, diagnosis.call_sites, strict=True):
        ids = [slot.id for slot in template.slots]
        assert len(set(ids)) == len(ids)
        assert [piece.slot for piece in template.pieces if isinstance(piece, SlotPiece)] == ids
        assert template.requests_in_all == site.requests
        assert bool(template.note) == (not template.pieces)
        findings = {finding.id: finding for finding in diagnosis.findings if finding.call_site == site.id}
        for slot in template.slots:
            assert slot.finding is None or findings[slot.finding].owner.value == slot.owner
            assert 1 <= slot.distinct <= slot.requests <= site.requests
            assert slot.token_offset is None or slot.token_offset >= 0
        for aligned in template.requests:
            assert aligned.values.keys() <= set(ids)
            assert diagnosis.rows[aligned.index].id == aligned.id
        for proposal in template.proposals:
            assert set(proposal.findings) <= findings.keys()
            gains = [findings[finding].recoverable_tokens for finding in proposal.findings]
            assert proposal.recoverable_tokens == sum(gains) > 0


SLOT_CAUSES = {
    *("clock", "random-id", "identity", "counter", "retrieved-context", "whitespace"),
    *("tool-order", "tool-set", "schema-key-order"),
}


LATER = ("messages[1]", "messages[2]")  # what changes there changes from turn to turn: no slot


def test_the_finding_of_a_slot_is_linked_to_it(cases: list[Case]) -> None:
    found = set()
    for case in cases:
        linked = {slot.finding for template in case.report.templates.templates for slot in template.slots}
        for finding in case.diagnosis.findings:
            if finding.cause in SLOT_CAUSES and not (finding.path or "").startswith(LATER):
                assert finding.id in linked, (case.name, finding.cause, finding.path)
                found.add(finding.cause)
    assert found == SLOT_CAUSES


def test_tools_stand_where_the_prompt_shows_them() -> None:
    template = shown(revealed=True).templates[3]
    paths = [path for path, _ in itertools.groupby(piece.path for piece in template.pieces)]
    assert paths == ["messages[0].content", "tools", "tools[0]", "messages[1].content"]
    (order,) = (slot for slot in template.slots if slot.id == "tools#order")
    assert (order.type, order.movable, order.finding) == ("order", False, "F1")
    assert order.distinct == len(
        {tuple(row.tools) for row in helpdesk().accounts.traffic.catalog.rows if row.tools}
    )
    names = next(p.text for p in template.pieces if isinstance(p, TextPiece) and p.role == "tools")
    assert template.requests[0].values["tools#order"] == names


def test_several_findings_can_be_taken_together() -> None:
    proposals = shown(revealed=True).templates[0].proposals
    assert [proposal.findings for proposal in proposals] == [("F2",), ("F5",), ("F2", "F5")]


def test_a_question_is_no_piece_of_the_template() -> None:
    items = [asked(n, LONG * 2, ask) for n, ask in enumerate(["One thing?", "And another one?", "Why?"])]
    assert texts(template_of(items)) == [LONG * 2]


def test_a_call_site_without_common_text_says_so() -> None:
    template = template_of([request(n, chat(f"{n} and what of it, {n}?"), session=f"s{n}") for n in range(3)])
    assert template.pieces == ()
    assert "no text in common" in template.note


def test_hashes_have_no_template() -> None:
    prompt = HashedPrompt(hash_ids=[1, 2], block_size=8, input_tokens=17)
    template = site_template(view_of(traffic_of([request(0, hashed=prompt)], block_size=8)), ())
    assert (template.pieces, template.slots, template.requests, template.requests_in_all) == ((), (), (), 1)
    assert "hashes" in template.note


def test_a_sample_is_spread_over_all_requests() -> None:
    rows = traffic_of([request(n, chat("x")) for n in range(SAMPLED + 50)]).catalog.rows
    found = [row.index for row in sampled(rows)]
    assert len(found) == len(set(found)) == SAMPLED
    assert (found[0], found[-1]) == (0, SAMPLED + 49)
    assert found == sorted(found)
    assert sampled(rows[:3]) == rows[:3]


def values(templates: Templates) -> set[str]:
    return {
        value
        for template in templates.templates
        for aligned in template.requests
        for value in aligned.values.values()
    }


def test_values_and_conversations_are_masked() -> None:
    plain, masked = (shown(revealed=revealed) for revealed in (True, False))
    nameless = [
        msgspec.structs.replace(
            template,
            requests=tuple(msgspec.structs.replace(r, id="", session="") for r in template.requests),
        )
        for template in masked.templates
    ]
    content = templates_bytes(Templates(revealed=False, templates=tuple(nameless))).decode()
    names = {value for value in values(plain) if "issue_refund" in value}  # of tools: the application's
    recorded = {value for value in values(plain) - names if len(value) >= 8 and not value.isalpha()}
    assert len(recorded) > 100
    assert [value for value in recorded if value in content] == []
    assert {value.split(":")[0] for value in values(masked)} == {"‹time", "‹identity", "‹passage", "‹order"}
    for before, after in zip(plain.templates, masked.templates, strict=True):
        assert (before.slots, before.proposals) == (after.slots, after.proposals)
        for open_piece, covered in zip(before.pieces, after.pieces, strict=True):
            if isinstance(covered, TextPiece) and covered.path.startswith("messages[1]"):
                assert covered.text.startswith("‹text: ")
            elif isinstance(covered, TextPiece) and isinstance(open_piece, TextPiece):
                assert covered.text == open_piece.text  # nothing secret in these


def saved(items: list[Request], tmp_path: Path, *, revealed: bool) -> Template:
    """The one template of a trace of ``items``, as the file has it."""
    trace = tmp_path / "trace.jsonl"
    lines = [
        {"id": item.id, "session_id": item.session, "body": {"model": "m", "messages": item.messages}}
        for item in items
    ]
    trace.write_bytes(b"\n".join(map(msgspec.json.encode, lines)))
    path = tmp_path / "templates.json"
    path.write_bytes(templates_bytes(templates_of(examine(str(trace)), revealed=revealed)))
    (template,) = read_templates(path).templates
    return template


def test_secrets_in_stable_text_are_covered_before_it_is_cut(tmp_path: Path) -> None:
    key = "sk-proj-4f9Qd81LxZ0aTb7Vw2Kp"
    filling = " mooring" * 1_000
    system = f"{filling[: END_CHARS - 10]} {key} {filling}"
    items = [asked(n, system) for n in range(3)]
    masked = texts(saved(items, tmp_path, revealed=False))[0]
    assert key[:8] not in masked
    assert "‹key: 28" in masked
    plain = saved(items, tmp_path, revealed=True).pieces[0]
    assert isinstance(plain, TextPiece)
    assert len(plain.text) == 2 * END_CHARS
    assert plain.skipped_chars == len(system) - 2 * END_CHARS
    assert plain.text == system[:END_CHARS] + system[-END_CHARS:]


def test_long_values_are_cut_and_say_so(tmp_path: Path) -> None:
    passages = [" ".join(f"{word}{n}" for word in LONG.split() * 4) for n in range(3)]
    items = [asked(n, f"{LONG * 3}\n\n{passage}\n\n{LONG[::-1] * 3}") for n, passage in enumerate(passages)]
    long_ones = [
        value
        for aligned in saved(items, tmp_path, revealed=True).requests
        for value in aligned.values.values()
    ]
    assert max(map(len, long_ones)) == VALUE_CHARS + 1
    assert all(value.endswith("…") for value in long_ones if len(value) > VALUE_CHARS)


def test_what_one_session_repeats_may_be_a_conversation(tmp_path: Path) -> None:
    said = f"My name is Ida Holm and this is what happened. {LONG}"
    items = [request(n, [message("user", said), *chat("Yes.", "Go on.")[:n]]) for n in range(3)]
    assert all(text.startswith("‹text: ") for text in texts(saved(items, tmp_path, revealed=False)))
    several = [request(n, [message("user", said)], session=f"s{n}") for n in range(3)]
    assert texts(saved(several, tmp_path, revealed=False)) == [said]


def test_what_some_sessions_say_is_no_text_of_the_application(tmp_path: Path) -> None:
    ida, others = (
        "My name is Ida Holm, and this is what happened.",
        "Bread is out again! Who ordered so little?",
    )
    more = chat("Yes.", "Go on.")
    items = [request(n, [message("user", ida), *more[:n]], session="ida") for n in range(3)]
    items.append(request(3, [message("user", others)], session="others"))
    assert texts(saved(items, tmp_path, revealed=True)) == []


def test_a_text_with_slots_is_shared_by_who_has_them(tmp_path: Path) -> None:
    mine = [f"My name is Ida Holm. {LONG}\nIt is {clock}.\n{LONG}" for clock in CLOCKS]
    parts: list[Any] = [[{"type": "text", "text": text}] for text in mine]
    other = request(9, [message("user", "What is it now?")], session="other")
    alone = [request(n, [message("user", part)]) for n, part in enumerate(parts)]
    template = saved([*alone, other], tmp_path, revealed=False)
    assert template.slots
    assert all(text.startswith("‹text: ") for text in texts(template))
    several = [request(n, [message("user", part)], session=f"s{n}") for n, part in enumerate(parts)]
    assert "My name is Ida Holm" in texts(saved([*several, other], tmp_path, revealed=False))[0]


def test_of_a_single_request_nobody_knows_what_varies(tmp_path: Path) -> None:
    system = f"You write to Ida Holm, card 7731. {LONG}"
    one, two = (asked(n, system, f"{n}: and what of it?") for n in range(2))
    assert all(text.startswith("‹text: ") for text in texts(saved([one], tmp_path, revealed=False)))
    assert texts(saved([one], tmp_path, revealed=True)) == [system]
    assert texts(saved([one, two], tmp_path, revealed=False)) == [system]


def test_the_same_bytes_for_the_same_trace() -> None:
    again = templates_of(examine(str(HELPDESK)), revealed=False)
    assert templates_bytes(again) == templates_bytes(shown(revealed=False))


@pytest.mark.parametrize("revealed", [True, False])
def test_templates_come_back(tmp_path: Path, revealed: bool) -> None:
    path = tmp_path / "templates.json"
    path.write_bytes(templates_bytes(shown(revealed=revealed)))
    assert read_templates(path) == shown(revealed=revealed)


def test_equal_values_have_equal_numbers_though_masked() -> None:
    for plain, masked in zip(shown(revealed=True).templates, shown(revealed=False).templates, strict=True):
        for slot in plain.slots:
            seen: dict[int, str] = {}
            for open_one, covered in zip(plain.requests, masked.requests, strict=True):
                assert open_one.variants == covered.variants
                assert open_one.variants.keys() == open_one.values.keys()
                number = open_one.variants[slot.id]
                assert number <= len(seen)
                seen.setdefault(number, open_one.values[slot.id][:VALUE_CHARS])
                assert seen[number] == open_one.values[slot.id][:VALUE_CHARS]


def test_what_was_saved_in_the_open_can_be_masked_later() -> None:
    later = masked_templates(shown(revealed=True), helpdesk().diagnosis)
    assert all(MASK.fullmatch(value) for value in values(later))
    for now, before in zip(later.templates, shown(revealed=False).templates, strict=True):
        assert [piece for piece in now.pieces if isinstance(piece, SlotPiece) or not piece.skipped_chars] == [
            piece for piece in before.pieces if isinstance(piece, SlotPiece) or not piece.skipped_chars
        ]
    assert [t.slots for t in later.templates] == [t.slots for t in shown(revealed=False).templates]
    assert masked_templates(later, helpdesk().diagnosis) is later


def test_a_secret_that_was_cut_in_two_is_covered_later(tmp_path: Path) -> None:
    key = "sk-proj-4f9Qd81LxZ0aTb7Vw2Kp"
    filling = " mooring" * 1_000
    items = [asked(n, f"{filling[: END_CHARS - 8]}{key} {filling}") for n in range(3)]
    template = saved(items, tmp_path, revealed=True)
    assert key[:7] in texts(template)[0]
    open_ones = Templates(revealed=True, templates=(template,))
    (later,) = masked_templates(open_ones, examine(str(tmp_path / "trace.jsonl")).diagnosis).templates
    assert key[:7] not in texts(later)[0]
    assert "mooring" in texts(later)[0]
