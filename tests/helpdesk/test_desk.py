from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime

import pytest
from helpdesk.app import Helpdesk
from helpdesk.config import Settings
from helpdesk.customers import Records
from helpdesk.errors import UnknownRecord
from helpdesk.knowledge import HelpCentre
from helpdesk.prompts.triage import parse_assessment
from helpdesk.scripted import ScriptedModel
from helpdesk.tickets import Ticket
from helpdesk.tools import ToolRegistry
from helpdesk.tools.base import ToolContext

NOON = datetime(2026, 5, 12, 12, 0, tzinfo=UTC)


@pytest.fixture
def records():
    return Records.load()


class Desk:
    """A desk whose transport remembers what was asked."""

    def __init__(self, records, now=NOON, model=None):
        self.bodies = []
        self._model = model or ScriptedModel()
        self.desk = Helpdesk(self, lambda: now, records=records, help_centre=HelpCentre.load())

    def send(self, body, session):
        self.bodies.append(json.loads(json.dumps(body)))
        return self._model.send(body, session)


def handle(records, customer, *texts, now=NOON):
    desk = Desk(records, now)
    ticket = Ticket("PL-40001", records.customer(customer), "A question")
    return [desk.desk.handle(ticket, text) for text in texts], desk.bodies


@pytest.mark.parametrize(
    ("text", "category", "steps"),
    [
        ("How do I close a period?", "how-to", ["json", "text", "text"]),
        ("Please refund the double charge of April.", "billing", ["json", *["tools"] * 4, "text"]),
        ("Is there an outage of the bank feed?", "incident", ["json", "tools", "tools", "text"]),
        ("Please erase my personal data.", "privacy", ["json", *["tools"] * 3, "text"]),
        ("Please upgrade us to the Convoy plan.", "account", ["json", *["tools"] * 3, "text"]),
        ("Thank you, all good.", "closing", ["json", "text"]),
    ],
)
def test_a_message_takes_the_way_of_its_category(records, text, category, steps):
    (outcome,), bodies = handle(records, "C-1043", text)
    assert outcome.assessment.category == category
    kinds = [
        "json" if body.get("response_format") else "tools" if body.get("tools") else "text" for body in bodies
    ]
    assert kinds == steps


def test_a_double_charge_is_really_refunded_once(records):
    outcomes, _ = handle(records, "C-1043", "Please refund the double charge.", "Was the refund sent?")
    assert records.invoices["INV-88121"].refunded
    assert not records.invoices["INV-88120"].refunded
    assert "INV-88121 over 29.00 EUR was refunded today" in outcomes[0].letter
    assert "was refunded" in outcomes[1].letter


def test_a_refund_above_the_limit_goes_to_finance(records):
    (outcome,), _ = handle(records, "C-1107", "Please refund INV-88254.")
    assert not records.invoices["INV-88254"].refunded
    assert [entry["team"] for entry in records.escalations] == ["finance"]
    assert "our finance team" in outcome.letter


def test_the_customer_is_addressed_and_the_article_cited(records):
    (outcome,), _ = handle(records, "C-1402", "How do I set up a recurring invoice?")
    assert outcome.letter.startswith("Dear Dr Vos,")
    assert "[HC-11]" in outcome.letter


def test_an_incident_is_apologised_for_once(records):
    question = "Is there an outage of the bank feed?"
    outcomes, _ = handle(records, "C-1350", question, question)
    assert "We are sorry" in outcomes[0].letter
    assert "We are sorry" not in outcomes[1].letter


@pytest.mark.parametrize(("hour", "desk"), [(12, "day"), (21, "on-call")])
def test_the_time_decides_the_desk(records, hour, desk):
    text = "I am locked out, please reset the second factor."
    (outcome,), _ = handle(records, "C-1466", text, now=NOON.replace(hour=hour))
    assert outcome.assessment.desk == desk


def test_an_assessment_of_another_ticket_or_of_no_shape_is_refused(records):
    ticket = Ticket("PL-40001", records.customer("C-1043"), "A question")
    good = {"ticket": "PL-40001", "category": "billing", "urgency": "low", "desk": "day"}
    assert parse_assessment(ticket, json.dumps(good)) is not None
    for bad in (
        {**good, "ticket": "PL-40002"},
        {**good, "category": "other"},
        {"ticket": "PL-40001"},
        [],
        None,
    ):
        assert parse_assessment(ticket, json.dumps(bad)) is None
    assert parse_assessment(ticket, "billing") is None


def test_a_model_that_never_ends_is_stopped(records):
    class Restless:
        def send(self, body, session):
            call = {"id": "c", "type": "function", "function": {"name": "find_customer", "arguments": "{}"}}
            return {"choices": [{"message": {"content": None, "tool_calls": [call]}}]}

    desk = Desk(records, model=Restless())
    ticket = Ticket("PL-40001", records.customer("C-1043"), "A question")
    outcome = desk.desk.handle(ticket, "Hello")
    assert "A colleague reads it" in outcome.findings
    assert len(desk.bodies) == 1 + Settings().max_tool_rounds + 1


def test_tools_answer_bad_calls_with_a_reason(records):
    context = ToolContext(records, Settings(), date(2026, 5, 12))
    registry = ToolRegistry(frozenset({"issue_refund", "list_invoices"}))
    calls = {
        ("escalate", "{}"): "no tool",
        ("list_invoices", "{"): "no JSON",
        ("list_invoices", '{"customer": 5}'): "object of strings",
        ("list_invoices", "{}"): "missing: customer",
        ("list_invoices", '{"customer": "C-9"}'): "no customer 'C-9'",
        (
            "issue_refund",
            '{"customer": "C-1043", "invoice": "INV-88254", "reason": "unused"}',
        ): "has no invoice",
    }
    for (name, arguments), reason in calls.items():
        assert reason in json.loads(registry.call(name, arguments, context))["error"]


def test_an_unknown_tool_cannot_be_enabled():
    with pytest.raises(UnknownRecord, match="no tool 'teleport'"):
        ToolRegistry(frozenset({"teleport"}))


@pytest.mark.parametrize(
    ("question", "article"),
    [
        ("How do I connect my bank?", "HC-03"),
        ("invite an accountant", "HC-18"),
        ("lost phone, second factor, recovery codes", "HC-36"),
        ("xyzzy", None),
    ],
)
def test_search_finds_the_article(question, article):
    found = HelpCentre.load().search(question, 3)
    assert (found[0].id if found else None) == article


def test_a_refund_outside_its_window_or_of_a_closed_period_is_refused(records):
    registry = ToolRegistry(Settings().enabled_tools)
    arguments = '{"customer": "C-1219", "invoice": "INV-88190", "reason": "unused"}'
    late = ToolContext(records, Settings(), date(2026, 5, 23))
    assert json.loads(registry.call("issue_refund", arguments, late))["status"] == "refused"
    records.invoices["INV-88190"] = replace(records.invoices["INV-88190"], period_closed=True)
    closed = ToolContext(records, Settings(), date(2026, 5, 12))
    assert (
        json.loads(registry.call("issue_refund", arguments, closed))["reason"] == "a period was closed in it"
    )
