"""The rule for pictures sent again in other bytes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from keepwarm.diagnose.changes import ChangeKind
from keepwarm.diagnose.findings import Owner
from keepwarm.diagnose.rules._slots import change_candidates
from keepwarm.diagnose.rules.base import Candidate, Rule

if TYPE_CHECKING:
    from keepwarm.diagnose.view import SiteView


class MediaReencode(Rule):
    """The same picture is sent again in other bytes.

    Servers identify a picture by its bytes. One that is compressed afresh, gets a new text chunk
    or comes from a thumbnail service at every turn is a new picture to them, and everything
    behind it is computed again.

    **Recognised by** a picture in the history whose bytes changed while the message around it did
    not; PNG pictures are compared by their pixels, others by their size.

    **Fix.** Encode once and keep the bytes, or send a stable address.

    **Not to be confused with** `history-rewrite`, where the picture itself is another one or gone.
    """

    code = "media-reencode"
    owner = Owner.APP
    summary = "same picture, other bytes"
    suggestion = "Encode the picture once, keep the bytes (or a stable address) and send those at every turn."

    def candidates(self, view: SiteView) -> Iterable[Candidate]:
        """Pictures of the history with other bytes."""
        changes = [c for c in view.changes if c.kind is ChangeKind.MEDIA]
        yield from change_candidates(view, changes, None)
