"""The rule for pictures sent again in other bytes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from keepwarm.diagnose.changes import ChangeKind
from keepwarm.diagnose.findings import Evidence, Owner
from keepwarm.diagnose.fixes import Place, ReplaceParts
from keepwarm.diagnose.media import media_path, media_url, same_media
from keepwarm.diagnose.rules import _order
from keepwarm.diagnose.rules._changes import change_candidates
from keepwarm.diagnose.rules.base import Anchor, Candidate, Rule
from keepwarm.trace.catalog import Row
from keepwarm.trace.records import JsonObject

if TYPE_CHECKING:
    from keepwarm.diagnose.view import SiteView

_SURE = 0.9
_LEADING_MESSAGES = 4
_PICTURES_KEPT = 4  # at one place: more are the requests' own
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
        if not changes:
            yield from _between_calls(view)


def _between_calls(view: SiteView) -> Iterable[Candidate]:
    """Pictures at one place of several conversations that are surely the same, in other bytes."""
    first: dict[Place, list[tuple[int, JsonObject]]] = defaultdict(list)  # of each picture
    resent: dict[int, dict[Place, JsonObject]] = defaultdict(dict)
    for row in view.rows:
        for place, part in _pictures(view, row):
            url = media_url(part) or ""
            known = [(i, other) for i, other in first[place] if _is_surely_same(media_url(other) or "", url)]
            if known and media_url(known[0][1]) != url:
                resent[row.index][place] = known[0][1]
            elif not known and len(first[place]) < _PICTURES_KEPT:
                first[place].append((row.index, part))
    if resent:
        yield _resent_candidate(view, resent)


def _resent_candidate(view: SiteView, resent: Mapping[int, Mapping[Place, JsonObject]]) -> Candidate:
    index, place = min(((i, place) for i in resent for place in resent[i]), key=lambda found: found[::-1])
    part = resent[index][place]
    base = f"messages[{place.message}].content[{place.part}]"
    return Candidate(
        path=f"{base}.{media_path(part)}",
        rows=tuple(sorted(resent)),
        confidence=_SURE,
        evidence=Evidence(
            request=view.catalog.rows[index].id, values=((media_url(part) or "")[:_URL_CHARS],)
        ),
        order=_order.in_text(place, 0),
        fixes=(ReplaceParts(resent),),
        anchor=Anchor(index, base, 0),
    )


def _pictures(view: SiteView, row: Row) -> Iterator[tuple[Place, JsonObject]]:
    for i, stored in enumerate(row.messages[:_LEADING_MESSAGES]):
        content = view.catalog.message(stored).get("content")
        if isinstance(content, list):
            yield from ((Place(i, j), part) for j, part in enumerate(content) if media_url(part) is not None)


def _is_surely_same(a: str, b: str) -> bool:
    """By what is seen; pictures of one size, which is all that is known of some, may be of two things."""
    return same_media(a, b) >= _SURE
