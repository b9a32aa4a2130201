"""The model's part of working on a case: which tool next, and the note at the end."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from helpdesk.scripted.reading import last_user_text
from helpdesk.tickets import ChatMessage

_COMPONENTS = (
    ("bank", "bank-feeds"),
    ("vat|tax|filing|confirmed", "tax-filing"),
    ("receipt", "receipts"),
    ("sign", "sign-in"),
)


class Call(NamedTuple):
    """A tool call; ``arguments`` is the JSON text."""

    name: str
    arguments: str


class Done(NamedTuple):
    """A call that was answered; ``current`` if it belongs to the newest message of the customer."""

    name: str
    arguments: dict[str, str]
    result: dict[str, Any]
    current: bool


@dataclass(frozen=True)
class Case:
    """What the thread says about the case."""

    ticket: str
    customer: str
    category: str
    text: str
    done: tuple[Done, ...]

    def last(self, name: str, *, current: bool = False) -> Done | None:
        """The latest answered call of a tool, of the whole case or only for the newest message."""
        return next(
            (call for call in reversed(self.done) if call.name == name and call.current >= current), None
        )

    def says(self, pattern: str) -> bool:
        """Whether the customer's newest message matches, whatever the case of letters."""
        return re.search(pattern, self.text, re.IGNORECASE) is not None

    def call(self, name: str, **arguments: str) -> Call:
        """A call about this customer."""
        return Call(name, json.dumps({"customer": self.customer, **arguments}))

    def escalate(self, team: str, request: str) -> Call:
        """A call that hands the case over."""
        return Call("escalate", json.dumps({"ticket": self.ticket, "team": team, "request": request}))


def next_step(messages: Sequence[ChatMessage]) -> Call | str:
    """The next tool call, or the note when the work is done."""
    case = _read(messages)
    failed = next((call for call in case.done if call.current and "error" in call.result), None)
    if failed:
        return f"The tool {failed.name} could not be used: {failed.result['error']}. A person has to go on."
    if case.category != "incident" and case.last("find_customer") is None:
        return case.call("find_customer")
    return _WORK.get(case.category, _account)(case)


def _read(messages: Sequence[ChatMessage]) -> Case:
    newest = max(index for index, message in enumerate(messages) if message["role"] == "user")
    head = last_user_text(messages)
    found = re.search(r"Ticket (\S+) of customer (\S+), sorted as ([\w-]+)", head)
    ticket, customer, category = found.groups() if found else ("", "", "")
    results = {
        message["tool_call_id"]: message["content"] for message in messages if message["role"] == "tool"
    }
    done = tuple(
        Done(
            call["function"]["name"],
            json.loads(call["function"]["arguments"]),
            json.loads(results[call["id"]]),
            index > newest,
        )
        for index, message in enumerate(messages)
        for call in message.get("tool_calls") or []
    )
    return Case(ticket, customer, category, head.partition("\n\n")[2], done)


def _billing(case: Case) -> Call | str:
    named = re.search(r"INV-\d+", case.text)
    if named and case.says("resend"):
        sent = case.last("resend_invoice", current=True)
        if sent is None:
            return case.call("resend_invoice", invoice=named[0])
        return f"{named[0]} was sent again to {sent.result['to']}, marked as {sent.result['marked']}."
    listed = case.last("list_invoices", current=True)
    if listed is None:
        return case.call("list_invoices")
    invoices = listed.result["invoices"]
    double = _double_charge(invoices)
    wanted = named[0] if named else double or invoices[0]["invoice"]
    shown = next((entry for entry in invoices if entry["invoice"] == wanted), invoices[0])
    return _refund(case, shown, "double-charge" if wanted == double else "unused")


def _refund(case: Case, shown: dict[str, Any], reason: str) -> Call | str:
    invoice, amount = shown["invoice"], shown["amount"]
    if shown["refunded"]:
        return (
            f"{invoice} over {amount}, paid on {shown['paid_on']}, was refunded. The money goes back "
            "the way it was paid and takes three to five banking days. Nothing more has to be done."
        )
    tried = case.last("issue_refund")
    if tried is None:
        return case.call("issue_refund", invoice=invoice, reason=reason)
    if tried.result["status"] == "refunded":
        return f"{invoice} over {amount} was refunded today; it arrives in {tried.result['arrives']}."
    team = tried.result["team"]
    handed = case.last("escalate")
    if handed is None:
        return case.escalate(team, f"Decide on the refund of {invoice} over {amount} to {case.customer}.")
    return (
        f"A refund of {invoice} over {amount} has to be decided by '{team}' "
        f"({tried.result['reason']}). The request {handed.result['escalation']} is with them; they "
        f"answer within {handed.result['answers_within']}."
    )


def _incident(case: Case) -> Call | str:
    checked = case.last("check_incidents", current=True)
    if checked is None:
        return Call("check_incidents", json.dumps({"component": _component(case)}))
    entry = next((entry for entry in checked.result["entries"] if entry["status"] == "open"), None)
    if entry:
        return (
            f"The board shows the open incident {entry['id']} since {entry['since']} UTC. Affected: "
            f"{entry['affected']} Still works: {entry['still_works']} Next update: "
            f"{entry['next_update']} UTC."
        )
    handed = case.last("escalate")
    if handed is None:
        sentence = case.text.partition(". ")[0].rstrip(".")
        return case.escalate("operations", f"Look into a fault of {checked.result['component']}: {sentence}.")
    return (
        f"The board shows nothing open for {checked.result['component']}. The case was handed to "
        f"'operations' as {handed.result['escalation']}; they answer within "
        f"{handed.result['answers_within']}."
    )


def _privacy(case: Case) -> Call | str:
    registered = case.last("start_privacy_request")
    if registered is None:
        kind = "erase" if case.says("eras") else "copy"
        scope = case.text.partition(". ")[0].rstrip(".")
        return case.call("start_privacy_request", kind=kind, scope=scope)
    result = registered.result
    note = f"The privacy request {result['request']} ({result['kind']}) is registered and answered by "
    note += f"{result['answered_by']}; delivery: {result['delivery']}."
    if result["kind"] == "erase":
        note += " Books that have to be kept for ten years are not erased early; the rest is."
    return note


def _account(case: Case) -> Call | str:
    if case.says("second factor"):
        reset = case.last("reset_second_factor")
        if reset is None:
            record = case.last("find_customer")
            person = record.result["contact"] if record else ""
            return case.call("reset_second_factor", person=person)
        return (
            f"The reset of the second factor is waiting for the {reset.result['for']}, which takes "
            f"{reset.result['takes']}. Faster: {reset.result['faster']}."
        )
    changed = case.last("change_plan")
    wanted = re.search(r"to (?:the )?(Dinghy|Sail|Convoy) plan", case.text)
    if wanted and (changed is None or not changed.current):
        return case.call("change_plan", plan=wanted[1])
    if changed is None:
        handed = case.last("escalate", current=True)
        if handed is None:
            return case.escalate("support-leads", f"Read ticket {case.ticket} and answer the customer.")
        return f"The case is with 'support-leads', who answer within {handed.result['answers_within']}."
    result = changed.result
    if result["status"] == "changed":
        return (
            f"The plan was changed from {result['from']} to {result['to']}, valid from "
            f"{result['valid_from']}. Another change is {result['next_change']}."
        )
    return f"Nothing was changed: {result['reason']}."


def _component(case: Case) -> str:
    checked = case.last("check_incidents")
    before = checked.arguments["component"] if checked else "invoicing"
    return next((component for pattern, component in _COMPONENTS if case.says(pattern)), before)


def _double_charge(invoices: list[dict[str, Any]]) -> str | None:
    """The later number of two equal charges on one day."""
    seen: dict[tuple[str, str, str], str] = {}
    for entry in sorted(invoices, key=lambda entry: str(entry["invoice"])):
        charge = (entry["amount"], entry["for"], entry["paid_on"])
        if charge in seen:
            return str(entry["invoice"])
        seen[charge] = entry["invoice"]
    return None


_WORK: dict[str, Callable[[Case], Call | str]] = {
    "billing": _billing,
    "incident": _incident,
    "privacy": _privacy,
    "account": _account,
}
