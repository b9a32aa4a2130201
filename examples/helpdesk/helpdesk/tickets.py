"""Tickets: one conversation with one customer, and what the desk has written about it so far."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from helpdesk.customers import Customer

ChatMessage = dict[str, Any]


@dataclass
class Ticket:
    """A conversation. The two threads are chat histories without their system message.

    ``desk_thread`` is the work on the case, tool calls included; ``letter_thread`` is the exchange with
    the customer. Both are only ever appended to.
    """

    id: str
    customer: Customer
    subject: str
    desk_thread: list[ChatMessage] = field(default_factory=list)
    letter_thread: list[ChatMessage] = field(default_factory=list)


@dataclass(frozen=True)
class Assessment:
    """How an incoming message was sorted."""

    category: str
    urgency: str
    desk: str


@dataclass(frozen=True)
class Outcome:
    """What came of one message: how it was sorted, what the desk found, what the customer was told."""

    assessment: Assessment
    findings: str
    letter: str
