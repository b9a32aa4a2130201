"""Writing to the customer."""

from __future__ import annotations

from helpdesk.config import COMPANY
from helpdesk.customers import Customer
from helpdesk.policy import support_policy
from helpdesk.tickets import ChatMessage, Ticket

_LETTER = """\
## The letter

You get the customer's message and, after it, what the desk found. The findings are the only source of \
facts; the customer's message tells you what to answer. Write the letter and nothing else: salutation, \
at most three short paragraphs or one paragraph and a numbered list, closing line. Keep steps in their \
order and keep the names of menus as they are. Article numbers in square brackets stay, they are \
clickable in the portal. Names of teams are translated: 'finance' is our finance team, 'operations' is \
our technicians, 'support-leads' is a senior colleague. If the findings do not answer the question, say \
what is being done to answer it and by when the customer hears from us. In a later letter of the same \
ticket do not repeat what an earlier one said; refer to it in half a sentence. The closing line is 'Kind \
regards, the Pennant Ledger support desk'."""


def reply_system(customer: Customer) -> str:
    """The system prompt of a letter."""
    return f"""\
You write letters to customers for the support desk of {COMPANY}.

You are writing to {customer.contact}, {customer.role} of {customer.company} in {customer.country} \
(customer number {customer.id}, {customer.plan} plan, customer since {customer.since:%B %Y}). Address \
the customer as {customer.salutation}.

{support_policy()}

{_LETTER}"""


def letter_message(text: str, findings: str) -> ChatMessage:
    """A customer's message and the desk's findings, as they enter the exchange."""
    content = f"The customer wrote:\n{text}"
    if findings:
        content += f"\n\nThe desk found:\n{findings}"
    return {"role": "user", "content": content}


def reply_messages(ticket: Ticket) -> list[ChatMessage]:
    """The prompt for the next letter of a ticket."""
    return [{"role": "system", "content": reply_system(ticket.customer)}, *ticket.letter_thread]
