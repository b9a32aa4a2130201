"""The rule for white space that differs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from keepwarm.diagnose.changes import ChangeKind
from keepwarm.diagnose.findings import Owner
from keepwarm.diagnose.rules._changes import change_candidates
from keepwarm.diagnose.rules._slots import slot_candidates
from keepwarm.diagnose.rules.base import Candidate, Rule
from keepwarm.diagnose.values import SlotType

if TYPE_CHECKING:
    from keepwarm.diagnose.view import SiteView


class Whitespace(Rule):
    """The same text comes with other white space.

    A trailing line feed that one code path strips, blank lines left by an empty optional part of
    a prompt template, or another indentation: nobody sees it, every token behind it is computed
    again.

    **Recognised by** texts that are equal once white space is taken out.

    **Fix.** Build the text in one place and normalise it there; store and replay messages byte
    for byte.

    **Not to be confused with** `retokenization`, where the text is the same to the last byte.
    """

    code = "whitespace"
    owner = Owner.APP
    summary = "differs only in white space (strip, newline, indentation)"
    suggestion = (
        "Send the text with the same white space each time: strip or keep line feeds in one place, "
        "before a message is stored, and replay it byte for byte."
    )

    def candidates(self, view: SiteView) -> Iterable[Candidate]:
        """White-space slots and messages replayed with other white space."""
        yield from slot_candidates(view, SlotType.WHITESPACE, constant=True)
        changes = [c for c in view.changes if c.kind is ChangeKind.WHITESPACE]
        yield from change_candidates(view, changes, SlotType.WHITESPACE)
