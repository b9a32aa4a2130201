"""The desk: takes a customer's message, sorts it, works on it and answers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from helpdesk.client import ChatClient, Transport
from helpdesk.config import Settings
from helpdesk.customers import Records
from helpdesk.knowledge import HelpCentre
from helpdesk.prompts import articles, reply, resolve, triage
from helpdesk.tickets import Assessment, Outcome, Ticket
from helpdesk.tools import ToolRegistry
from helpdesk.tools.base import ToolContext

Clock = Callable[[], datetime]

_UNFINISHED = "The case could not be finished with the tools. A colleague reads it and writes today."


class Helpdesk:
    """Handles messages one at a time. ``clock`` returns the time in UTC."""

    def __init__(
        self,
        transport: Transport,
        clock: Clock,
        *,
        records: Records,
        help_centre: HelpCentre,
        settings: Settings | None = None,
    ) -> None:
        self._settings = settings or Settings()
        self._client = ChatClient(transport, self._settings.model)
        self._clock = clock
        self._records = records
        self._help_centre = help_centre
        self._tools = ToolRegistry(self._settings.enabled_tools)

    def handle(self, ticket: Ticket, text: str) -> Outcome:
        """Answer one message of a ticket and remember it there. Raises ``UpstreamError``."""
        assessment = self._assess(ticket, text)
        if assessment.category == "how-to":
            findings = self._answer_from_articles(ticket, text)
        elif assessment.category == "closing":
            findings = ""
        else:
            findings = self._resolve(ticket, text, assessment)
        return Outcome(assessment, findings, self._write(ticket, text, findings))

    def _assess(self, ticket: Ticket, text: str) -> Assessment:
        now = self._clock()
        answer = self._client.complete(
            triage.triage_messages(ticket, text, now),
            session=ticket.id,
            temperature=0,
            max_tokens=80,
            response_format={"type": "json_object"},
        )
        assessment = triage.parse_assessment(ticket, answer["content"])
        return assessment or triage.fallback_assessment(now, self._settings)

    def _answer_from_articles(self, ticket: Ticket, question: str) -> str:
        found = self._help_centre.search(f"{ticket.subject} {question}", self._settings.articles_per_question)
        answer = self._client.complete(
            articles.articles_messages(question, found), session=ticket.id, temperature=0, max_tokens=400
        )
        return answer["content"] or ""

    def _resolve(self, ticket: Ticket, text: str, assessment: Assessment) -> str:
        ticket.desk_thread.append(resolve.case_message(ticket, text, assessment))
        context = ToolContext(self._records, self._settings, self._clock().date())
        for _ in range(self._settings.max_tool_rounds):
            answer = self._client.complete(
                resolve.resolve_messages(ticket),
                session=ticket.id,
                tools=self._tools.schemas(),
                temperature=0,
                max_tokens=600,
            )
            ticket.desk_thread.append(answer)
            calls = answer.get("tool_calls") or []
            if not calls:
                return answer["content"] or ""
            for call in calls:
                function = call["function"]
                result = self._tools.call(function["name"], function["arguments"], context)
                ticket.desk_thread.append({"role": "tool", "tool_call_id": call["id"], "content": result})
        return _UNFINISHED

    def _write(self, ticket: Ticket, text: str, findings: str) -> str:
        ticket.letter_thread.append(reply.letter_message(text, findings))
        answer = self._client.complete(
            reply.reply_messages(ticket), session=ticket.id, temperature=0.3, max_tokens=500
        )
        ticket.letter_thread.append(answer)
        return answer["content"] or ""
