"""Pictures that several conversations send at one place, the same to the eye and different in bytes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from keepwarm.diagnose.fixes import Place
from keepwarm.diagnose.media import media_url, same_media
from keepwarm.diagnose.typed_slots import LEADING_MESSAGES
from keepwarm.diagnose.view import SiteView
from keepwarm.trace.catalog import Row
from keepwarm.trace.contents import ContentId
from keepwarm.trace.records import JsonObject

SURE = 0.9
"""Confidence from which pictures are the same: by their pixels or their address, not by their size."""

# Comparing pixels is slow, so a place is judged by the first pictures that stand there.
_ENOUGH_EQUAL = 3  # all so far were one picture: the next ones are too
_MOST_DIFFERENT = 4  # pictures at one place: more are the requests' own

_Resent = dict[int, dict[Place, JsonObject]]


def resent_pictures(view: SiteView) -> _Resent:
    """By row and place, the part as it was first sent, for pictures that are sent again in other bytes."""
    places: dict[Place, _PicturesSeen] = defaultdict(_PicturesSeen)
    resent: _Resent = defaultdict(dict)
    for row in view.rows:
        for place, stored, part in _pictures(view, row):
            first = places[place].first_of(stored, part)
            if first is not None:
                resent[row.index][place] = first
    return resent


class _PicturesSeen:
    """The different pictures at one place, and which of them each stored message shows."""

    def __init__(self) -> None:
        self._different: list[JsonObject] = []
        self._first_of: dict[ContentId, JsonObject | None] = {}
        self._equal = 0

    def first_of(self, stored: ContentId, part: JsonObject) -> JsonObject | None:
        """The part that first showed the picture in other bytes, if there is one. Mutates."""
        if stored not in self._first_of:
            self._first_of[stored] = self._known(part)
        return self._first_of[stored]

    def _known(self, part: JsonObject) -> JsonObject | None:
        if len(self._different) >= _MOST_DIFFERENT:
            return None
        url = media_url(part) or ""
        judged = self._equal >= _ENOUGH_EQUAL and len(self._different) == 1
        for first in self._different:
            first_url = media_url(first) or ""
            if first_url == url:
                return None
            if judged or same_media(first_url, url) >= SURE:
                self._equal += 1
                return first
        self._different.append(part)
        return None


def _pictures(view: SiteView, row: Row) -> Iterator[tuple[Place, ContentId, JsonObject]]:
    for i, stored in enumerate(row.messages[:LEADING_MESSAGES]):
        content = view.catalog.message(stored).get("content")
        if isinstance(content, list):
            yield from (
                (Place(i, j), stored, part) for j, part in enumerate(content) if media_url(part) is not None
            )
