"""Tools about the customer's account and personal data."""

from __future__ import annotations

from datetime import timedelta

from helpdesk.tools.base import Arguments, Result, Tool, ToolContext

_CUSTOMER = {"description": "Customer number, for example C-1999"}
_PLANS = ["Dinghy", "Sail", "Convoy"]
_PRIVACY_DAYS = 30


def _find_customer(context: ToolContext, arguments: Arguments) -> Result:
    customer = context.records.customer(arguments["customer"])
    return {
        "customer": customer.id,
        "contact": customer.contact,
        "role": customer.role,
        "company": customer.company,
        "plan": customer.plan,
        "since": customer.since.isoformat(),
        "country": customer.country,
    }


def _change_plan(context: ToolContext, arguments: Arguments) -> Result:
    customer = context.records.customer(arguments["customer"])
    plan = arguments["plan"]
    if plan not in _PLANS:
        return {"status": "refused", "reason": f"no plan {plan!r}", "team": "support-leads"}
    if plan == customer.plan:
        return {"status": "unchanged", "plan": plan, "reason": "the customer is on this plan already"}
    context.records.change_plan(customer, plan)
    return {
        "status": "changed",
        "from": customer.plan,
        "to": plan,
        "valid_from": context.today.isoformat(),
        "next_change": "possible at the end of every month",
    }


def _reset_second_factor(context: ToolContext, arguments: Arguments) -> Result:
    customer = context.records.customer(arguments["customer"])
    if arguments["person"] != customer.contact:
        return {"status": "refused", "reason": "not named in the record", "team": "support-leads"}
    return {
        "status": "waiting",
        "for": "check of identity by phone",
        "takes": "one working day",
        "faster": "another owner of the firm can reset it at once under Settings, People",
    }


def _start_privacy_request(context: ToolContext, arguments: Arguments) -> Result:
    customer = context.records.customer(arguments["customer"])
    number = f"PR-{600 + len(context.records.privacy_requests) + 1}"
    due = context.today + timedelta(days=_PRIVACY_DAYS)
    context.records.privacy_requests.append(
        {"request": number, "customer": customer.id, "kind": arguments["kind"]}
    )
    return {
        "status": "registered",
        "request": number,
        "kind": arguments["kind"],
        "answered_by": due.isoformat(),
        "delivery": "download in the portal, open to owners only",
    }


FIND_CUSTOMER = Tool(
    name="find_customer",
    description=(
        "The record of a customer: firm, contact, role, plan, country and since when they are with us. "
        "Holds no bank details and no tax number."
    ),
    parameters={"customer": _CUSTOMER},
    run=_find_customer,
)
CHANGE_PLAN = Tool(
    name="change_plan",
    description=(
        "Moves a customer to another plan from today. The price difference is settled on the next "
        "invoice. Nothing in the ledger is lost by a move to a smaller plan; functions that are not "
        "part of it become read-only."
    ),
    parameters={"customer": _CUSTOMER, "plan": {"description": "The new plan", "enum": _PLANS}},
    run=_change_plan,
)
RESET_SECOND_FACTOR = Tool(
    name="reset_second_factor",
    description=(
        "Starts the reset of a person's second factor. The reset waits for a check of identity by "
        "phone and then lets the person set up a new device at the next sign-in."
    ),
    parameters={
        "customer": _CUSTOMER,
        "person": {"description": "Full name of the person, as in the customer's record"},
    },
    run=_reset_second_factor,
)
START_PRIVACY_REQUEST = Tool(
    name="start_privacy_request",
    description=(
        "Registers a wish about personal data and starts the time limit of thirty days. Returns the "
        "number of the request and the last day for the answer. One request for each wish."
    ),
    parameters={
        "customer": _CUSTOMER,
        "kind": {"description": "What is wished for", "enum": ["copy", "correct", "move", "erase"]},
        "scope": {"description": "Whose data and which, in one sentence"},
    },
    run=_start_privacy_request,
)
