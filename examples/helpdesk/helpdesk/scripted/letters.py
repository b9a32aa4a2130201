"""The model's part of writing to the customer."""

from __future__ import annotations

from collections.abc import Sequence

from helpdesk.scripted.reading import find_first, last_user_text
from helpdesk.tickets import ChatMessage

_CLOSING_LINE = "Kind regards, the Pennant Ledger support desk"
_TEAMS = {
    "'finance'": "our finance team",
    "'operations'": "our technicians",
    "'support-leads'": "a senior colleague",
}


def write_letter(messages: Sequence[ChatMessage]) -> str:
    """Salutation, what the desk found in the customer's terms, closing line."""
    salutation = find_first(r"Address the customer as ([^.\n]+)", messages) or "customer"
    findings = last_user_text(messages).partition("The desk found:\n")[2]
    earlier = [str(message["content"]) for message in messages if message["role"] == "assistant"]
    return "\n\n".join([f"Dear {salutation},", *_paragraphs(findings, earlier), _CLOSING_LINE])


def _paragraphs(findings: str, earlier: list[str]) -> list[str]:
    if not findings:
        return [
            "Thank you for letting us know. We close the ticket; an answer to this letter opens it again."
        ]
    for name, meaning in _TEAMS.items():
        findings = findings.replace(name, meaning)
    paragraphs = [findings]
    if "incident IN-" in findings and not any("We are sorry" in letter for letter in earlier):
        paragraphs.append("We are sorry for this. Work that was saved before the fault is safe.")
    if earlier:
        paragraphs.append("What we wrote in our earlier letter still holds.")
    return paragraphs
