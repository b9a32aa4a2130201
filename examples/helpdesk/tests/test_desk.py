"""The desk from a message to a letter, and what its prompts must say.

``python -m unittest discover -s tests`` runs it: the standard library is enough, as for the desk.
"""
# ruff: noqa: PT009 - the asserts of unittest say what they compared

from __future__ import annotations

import json
import unittest
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from helpdesk.app import Helpdesk
from helpdesk.client import ChatBody, ChatResponse
from helpdesk.config import ENABLED_TOOLS
from helpdesk.customers import Records
from helpdesk.knowledge import HelpCentre
from helpdesk.prompts import articles, reply, resolve, triage
from helpdesk.scripted import ScriptedModel
from helpdesk.tickets import Ticket
from helpdesk.tools import ToolRegistry

NOON = datetime(2026, 5, 12, 12, 0, tzinfo=UTC)


class Desk:
    """A desk that remembers what its model was asked."""

    def __init__(self, now: datetime = NOON) -> None:
        self.bodies: list[ChatBody] = []
        self.records = Records.load()
        self._model = ScriptedModel()
        self._desk = Helpdesk(self, lambda: now, records=self.records, help_centre=HelpCentre.load())

    def send(self, body: ChatBody, session: str) -> ChatResponse:
        self.bodies.append(json.loads(json.dumps(body)))
        return self._model.send(body, session)

    def handle(self, customer: str, *texts: str) -> list[Any]:
        ticket = Ticket("PL-40001", self.records.customer(customer), "A question")
        return [self._desk.handle(ticket, text) for text in texts]


class FromMessageToLetter(unittest.TestCase):
    """Messages through the whole desk, with the scripted model."""

    def test_each_category_takes_its_way(self) -> None:
        ways = {
            "How do I close a period?": ("how-to", 3),
            "Please refund the double charge of April.": ("billing", 6),
            "Is there an outage of the bank feed?": ("incident", 4),
            "Thank you, all good.": ("closing", 2),
        }
        for text, (category, requests) in ways.items():
            desk = Desk()
            (outcome,) = desk.handle("C-1043", text)
            self.assertEqual(outcome.assessment.category, category)
            self.assertEqual(len(desk.bodies), requests)

    def test_a_double_charge_is_refunded_once(self) -> None:
        desk = Desk()
        desk.handle("C-1043", "Please refund the double charge.", "Was the refund sent?")
        self.assertTrue(desk.records.invoices["INV-88121"].refunded)
        self.assertFalse(desk.records.invoices["INV-88120"].refunded)

    def test_the_time_decides_the_desk(self) -> None:
        for hour, name in ((12, "day"), (21, "on-call")):
            (outcome,) = Desk(NOON.replace(hour=hour)).handle("C-1466", "I am locked out.")
            self.assertEqual(outcome.assessment.desk, name)

    def test_a_case_only_grows(self) -> None:
        desk = Desk()
        desk.handle("C-1107", "Please refund INV-88254.")
        threads = [body["messages"] for body in desk.bodies if body.get("tools")]
        for earlier, later in pairwise(threads):
            self.assertEqual(later[: len(earlier)], earlier)


class WhatPromptsSay(unittest.TestCase):
    """One prompt of each call site."""

    def setUp(self) -> None:
        self.ticket = Ticket("PL-40001", Records.load().customer("C-1402"), "Closing")

    def test_triage_has_time_ticket_categories_and_the_message(self) -> None:
        system, *others = triage.triage_messages(self.ticket, "How do I close a period?", NOON)
        for text in ("2026-05-12 12:00:00 UTC", '"ticket": "PL-40001"', "## Categories", "## Urgency"):
            self.assertIn(text, system["content"])
        self.assertIn("How do I close a period?", others[-1]["content"])

    def test_an_answer_rests_on_the_articles_found(self) -> None:
        found = HelpCentre.load().search("How do I close a period?", 3)
        system, user = articles.articles_messages("How do I close a period?", found)
        self.assertIn(found[0].body, system["content"])
        self.assertIn("Use the help-centre articles you were given and nothing else", system["content"])
        self.assertEqual(user["content"], "Question: How do I close a period?")

    def test_a_case_is_worked_on_with_all_tools(self) -> None:
        offered = [tool["function"]["name"] for tool in ToolRegistry(ENABLED_TOOLS).schemas()]
        self.assertEqual(len(offered), len(ENABLED_TOOLS))
        self.assertEqual(set(offered), ENABLED_TOOLS)
        self.assertEqual(resolve.resolve_messages(self.ticket)[0]["role"], "system")

    def test_a_letter_knows_customer_and_policy(self) -> None:
        (system,) = reply.reply_messages(self.ticket)
        for text in ("Dr Hanneke Vos", "Address the customer as Dr Vos", "## Refunds", "## Tone"):
            self.assertIn(text, system["content"])


if __name__ == "__main__":
    unittest.main()
