"""Tools about faults and about handing a case to another team."""

from __future__ import annotations

from dataclasses import asdict

from helpdesk.tools.base import Arguments, Result, Tool, ToolContext

_COMPONENTS = ["bank-feeds", "tax-filing", "receipts", "invoicing", "sign-in", "exports"]
_TEAMS = {
    "finance": "two working days",
    "operations": "four hours",
    "support-leads": "one working day",
}


def _check_incidents(context: ToolContext, arguments: Arguments) -> Result:
    component = arguments["component"]
    entries = [asdict(entry) for entry in context.records.incidents if entry.component == component]
    return {"component": component, "entries": entries}


def _escalate(context: ToolContext, arguments: Arguments) -> Result:
    team = arguments["team"]
    if team not in _TEAMS:
        return {"status": "refused", "reason": f"no team {team!r}", "team": "support-leads"}
    number = f"ES-{300 + len(context.records.escalations) + 1}"
    context.records.escalations.append(
        {"escalation": number, "ticket": arguments["ticket"], "team": team, "request": arguments["request"]}
    )
    return {"status": "handed over", "escalation": number, "team": team, "answers_within": _TEAMS[team]}


CHECK_INCIDENTS = Tool(
    name="check_incidents",
    description=(
        "The entries of the incident board for one component, open and closed, with what is affected, "
        "what still works and when the next update comes. Times are UTC. An empty list means that "
        "nothing is known."
    ),
    parameters={"component": {"description": "The part of the service", "enum": _COMPONENTS}},
    run=_check_incidents,
)
ESCALATE = Tool(
    name="escalate",
    description=(
        "Hands a case to another team and returns within which time they answer. Use it when a tool "
        "refused or when the rules name a team. The request is one sentence that can be acted on "
        "without reading the ticket."
    ),
    parameters={
        "ticket": {"description": "Ticket number, for example PL-40000"},
        "team": {"description": "Who takes over", "enum": list(_TEAMS)},
        "request": {"description": "What they are asked to do"},
    },
    run=_escalate,
)
