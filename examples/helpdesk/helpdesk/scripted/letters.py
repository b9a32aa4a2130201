"""The model's part of writing to the customer."""

from __future__ import annotations

import re
from collections.abc import Sequence

from helpdesk.scripted.reading import find_first, last_user_text
from helpdesk.tickets import ChatMessage

_CLOSING_LINE = "Kind regards, the Pennant Ledger support desk"
_FOR_ANOTHER = r"(?:tell|send|show|give|answer) (?:him|her|them|(?:my|our) (?:new )?accountant)\b"
_ONLY_IF_INVITED = r"(not even to their accountant, unless that accountant has been invited to the ledger)"
_TEAMS = {
    "'finance'": "our finance team",
    "'operations'": "our technicians",
    "'support-leads'": "a senior colleague",
}


def write_letter(messages: Sequence[ChatMessage]) -> str:
    """Salutation, what the desk found in the customer's terms, closing line."""
    salutation = find_first(r"Address the customer as ([^.\n]+)", messages) or "customer"
    written, _, findings = last_user_text(messages).partition("The desk found:\n")
    earlier = [str(message["content"]) for message in messages if message["role"] == "assistant"]
    paragraphs = [*_paragraphs(findings, earlier), *_authorisation(written, messages)]
    return "\n\n".join([f"Dear {salutation},", *paragraphs, _CLOSING_LINE])


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


def _authorisation(written: str, messages: Sequence[ChatMessage]) -> list[str]:
    """Whom the desk speaks to, if the customer asks it to speak to somebody else."""
    if not re.search(_FOR_ANOTHER, written, re.IGNORECASE):
        return []
    if find_first(_ONLY_IF_INVITED, messages):
        return ["We speak about your books with you alone, until your accountant is invited to the ledger."]
    return ["We will gladly answer your accountant directly."]
