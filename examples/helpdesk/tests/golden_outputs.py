"""What the model answers in each golden case: ``python -m tests.golden_outputs`` prints it as JSON."""

from __future__ import annotations

import json
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

from helpdesk.app import Helpdesk
from helpdesk.client import ChatBody, ChatResponse
from helpdesk.customers import Records
from helpdesk.knowledge import HelpCentre
from helpdesk.scripted import ScriptedModel
from helpdesk.tickets import Ticket

CASES = Path(__file__).with_name("golden_cases.json")


class Listener:
    """Passes requests on to the scripted model and keeps the answers by call site."""

    def __init__(self) -> None:
        self.answers: dict[str, list[dict[str, Any]]] = {}
        self._model = ScriptedModel()

    def send(self, body: ChatBody, session: str) -> ChatResponse:
        """Answer ``body``; remember content and calls."""
        response = self._model.send(body, session)
        message = response["choices"][0]["message"]
        calls = [call["function"] for call in message.get("tool_calls", [])]
        answer = {
            "content": message["content"],
            "tool_calls": [{**call, "arguments": json.loads(call["arguments"])} for call in calls],
        }
        self.answers.setdefault(call_site(body), []).append(answer)
        return response


def call_site(body: ChatBody) -> str:
    """Which of the four prompts this is."""
    if body.get("response_format"):
        return "triage"
    if body.get("tools"):
        return "resolve"
    return "articles" if "help-centre article" in body["messages"][0]["content"].lower() else "reply"


def output_of(case: dict[str, Any]) -> dict[str, Any]:
    """The newest answer of the case's call site, or the one that ``step`` counts, after all messages."""
    listener, records = Listener(), Records.load()
    now = datetime.fromisoformat(case["at"])
    desk = Helpdesk(listener, lambda: now, records=records, help_centre=HelpCentre.load())
    ticket = Ticket("PL-47001", records.customer(case["customer"]), case["subject"])
    for text in case["messages"]:
        desk.handle(ticket, text)
    return listener.answers[case["call_site"]][case.get("step", -1)]


def main() -> int:
    """Print ``{case: output}``."""
    cases = json.loads(CASES.read_text(encoding="utf-8"))
    outputs = {case["case"]: output_of(case) for case in cases}
    json.dump(outputs, sys.stdout, ensure_ascii=False, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
