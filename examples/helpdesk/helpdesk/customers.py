"""Customers, their invoices and the incident board, loaded from the data files."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from importlib.resources import files
from typing import Any

from helpdesk.errors import UnknownRecord


@dataclass(frozen=True)
class Customer:
    """A firm that keeps its books with us, and the person who writes for it."""

    id: str
    contact: str
    salutation: str
    role: str
    company: str
    plan: str
    since: date
    country: str


@dataclass(frozen=True)
class Invoice:
    """What we charged a customer, as the ledger shows it."""

    id: str
    customer: str
    amount_eur: Decimal
    description: str
    paid_on: date
    period_closed: bool
    refunded: bool = False


@dataclass(frozen=True)
class Incident:
    """An entry of the incident board; times are UTC."""

    id: str
    component: str
    status: str
    since: str
    affected: str
    still_works: str
    next_update: str


def load_json(name: str) -> Any:
    """The parsed content of ``data/<name>``."""
    return json.loads(files("helpdesk").joinpath("data", name).read_text(encoding="utf-8"))


@dataclass
class Records:
    """The desk's view of the back office. Tools read and change it."""

    customers: dict[str, Customer]
    invoices: dict[str, Invoice]
    incidents: list[Incident]
    escalations: list[dict[str, str]] = field(default_factory=list)
    privacy_requests: list[dict[str, str]] = field(default_factory=list)

    @classmethod
    def load(cls) -> Records:
        """A fresh copy of the shipped data."""
        customers = [
            Customer(**{**row, "since": date.fromisoformat(row["since"])})
            for row in load_json("customers.json")
        ]
        invoices = [
            Invoice(
                **{
                    **row,
                    "amount_eur": Decimal(row["amount_eur"]),
                    "paid_on": date.fromisoformat(row["paid_on"]),
                }
            )
            for row in load_json("invoices.json")
        ]
        return cls(
            customers={customer.id: customer for customer in customers},
            invoices={invoice.id: invoice for invoice in invoices},
            incidents=[Incident(**row) for row in load_json("incidents.json")],
        )

    def customer(self, customer_id: str) -> Customer:
        """The customer with this number; raises ``UnknownRecord``."""
        try:
            return self.customers[customer_id]
        except KeyError:
            raise UnknownRecord(f"no customer {customer_id!r}") from None

    def invoice(self, customer_id: str, invoice_id: str) -> Invoice:
        """An invoice of that customer; raises ``UnknownRecord``, also for somebody else's invoice."""
        invoice = self.invoices.get(invoice_id)
        if invoice is None or invoice.customer != customer_id:
            raise UnknownRecord(f"customer {customer_id!r} has no invoice {invoice_id!r}")
        return invoice

    def invoices_of(self, customer_id: str) -> list[Invoice]:
        """All invoices of a customer, newest payment first."""
        mine = [invoice for invoice in self.invoices.values() if invoice.customer == customer_id]
        return sorted(mine, key=lambda invoice: (invoice.paid_on, invoice.id), reverse=True)

    def mark_refunded(self, invoice: Invoice) -> None:
        """Remember that the money went back."""
        self.invoices[invoice.id] = replace(invoice, refunded=True)

    def change_plan(self, customer: Customer, plan: str) -> None:
        """Move a customer to another plan."""
        self.customers[customer.id] = replace(customer, plan=plan)
