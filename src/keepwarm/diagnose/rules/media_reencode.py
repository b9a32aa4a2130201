"""The rule for pictures sent again in other bytes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from keepwarm.diagnose.changes import ChangeKind
from keepwarm.diagnose.findings import Evidence, Owner
from keepwarm.diagnose.fixes import Place, ReplaceParts
from keepwarm.diagnose.media import media_path, media_url
from keepwarm.diagnose.rules import _order
from keepwarm.diagnose.rules._changes import change_candidates
from keepwarm.diagnose.rules._pictures import SURE, resent_pictures
from keepwarm.diagnose.rules.base import Anchor, Candidate, Rule
from keepwarm.trace.records import JsonObject

if TYPE_CHECKING:
    from keepwarm.diagnose.view import SiteView

_URL_CHARS = 60


class MediaReencode(Rule):
    """The same picture is sent again in other bytes.

    Servers identify a picture by its bytes. One that is compressed afresh, gets a new text chunk
    or comes from a thumbnail service at every turn is a new picture to them, and everything
    behind it is computed again.

    **Recognised by** a picture in the history whose bytes changed while the message around it did
    not; PNG pictures are compared by their pixels, others by their size. Between conversations only
    equal pixels, or an address that differs in its query, are taken for the same picture.

    **Fix.** Encode once and keep the bytes, or send a stable address.

    **Not to be confused with** `history-rewrite`, where the picture itself is another one or gone.
    """

    code = "media-reencode"
    owner = Owner.APP
    summary = "same picture, other bytes"
    suggestion = "Encode the picture once, keep the bytes (or a stable address) and send those at every turn."

    def candidates(self, view: SiteView) -> Iterable[Candidate]:
        """Pictures of the history, or of other conversations, with other bytes."""
        changes = [c for c in view.changes if c.kind is ChangeKind.MEDIA]
        yield from change_candidates(view, changes, None)
        if not changes and (resent := resent_pictures(view)):
            yield _resent_candidate(view, resent)


def _resent_candidate(view: SiteView, resent: Mapping[int, Mapping[Place, JsonObject]]) -> Candidate:
    index, place = min(((i, place) for i in resent for place in resent[i]), key=lambda found: found[::-1])
    part = resent[index][place]
    base = f"messages[{place.message}].content[{place.part}]"
    return Candidate(
        path=f"{base}.{media_path(part)}",
        rows=tuple(sorted(resent)),
        confidence=SURE,
        evidence=Evidence(
            request=view.catalog.rows[index].id, values=((media_url(part) or "")[:_URL_CHARS],)
        ),
        order=_order.in_text(place, 0),
        fixes=(ReplaceParts(resent),),
        anchor=Anchor(index, base, 0),
    )
