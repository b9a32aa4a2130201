"""Tools about money between the customer and us."""

from __future__ import annotations

from datetime import timedelta

from helpdesk.tools.base import Arguments, Result, Tool, ToolContext

_CUSTOMER = {"description": "Customer number, for example C-1999"}
_INVOICE = {"description": "Invoice number, for example INV-80000"}


def _list_invoices(context: ToolContext, arguments: Arguments) -> Result:
    customer = context.records.customer(arguments["customer"])
    return {
        "customer": customer.id,
        "invoices": [
            {
                "invoice": invoice.id,
                "amount": f"{invoice.amount_eur} EUR",
                "for": invoice.description,
                "paid_on": invoice.paid_on.isoformat(),
                "period_closed": invoice.period_closed,
                "refunded": invoice.refunded,
            }
            for invoice in context.records.invoices_of(customer.id)
        ],
    }


def _issue_refund(context: ToolContext, arguments: Arguments) -> Result:
    invoice = context.records.invoice(arguments["customer"], arguments["invoice"])
    settings = context.settings
    if invoice.refunded:
        return {"status": "refused", "reason": "already refunded", "team": "finance"}
    if arguments["reason"] != "double-charge":
        last_day = invoice.paid_on + timedelta(days=settings.refund_window_days)
        if invoice.amount_eur > settings.refund_limit_eur:
            return {"status": "refused", "reason": "above the limit of the desk", "team": "finance"}
        if context.today > last_day:
            return {
                "status": "refused",
                "reason": f"possible until {last_day.isoformat()}",
                "team": "finance",
            }
        if invoice.period_closed:
            return {"status": "refused", "reason": "a period was closed in it", "team": "finance"}
    context.records.mark_refunded(invoice)
    return {
        "status": "refunded",
        "invoice": invoice.id,
        "amount": f"{invoice.amount_eur} EUR",
        "arrives": "three to five banking days, the way it was paid",
    }


def _resend_invoice(context: ToolContext, arguments: Arguments) -> Result:
    invoice = context.records.invoice(arguments["customer"], arguments["invoice"])
    return {
        "status": "sent",
        "invoice": invoice.id,
        "to": "the address for invoices in the customer's record",
        "marked": "refunded copy" if invoice.refunded else "copy",
    }


LIST_INVOICES = Tool(
    name="list_invoices",
    description=(
        "All invoices we have written to a customer, newest payment first, with sum, date of payment, "
        "whether a period was closed in the month they pay for, and whether they were refunded. Use it "
        "before any refund."
    ),
    parameters={"customer": _CUSTOMER},
    run=_list_invoices,
)
ISSUE_REFUND = Tool(
    name="issue_refund",
    description=(
        "Pays one invoice back in full, the way the money came. Checks the limits of the desk and "
        "refuses with a reason and the team to escalate to. It cannot be taken back."
    ),
    parameters={
        "customer": _CUSTOMER,
        "invoice": _INVOICE,
        "reason": {
            "description": "Why the money goes back",
            "enum": ["double-charge", "unused", "cancelled-order", "wrong-price"],
        },
    },
    run=_issue_refund,
)
RESEND_INVOICE = Tool(
    name="resend_invoice",
    description=(
        "Sends a copy of one of our invoices to the address for invoices in the customer's record. "
        "Another address cannot be given. A refunded invoice is marked as such on the copy."
    ),
    parameters={"customer": _CUSTOMER, "invoice": _INVOICE},
    run=_resend_invoice,
)
