"""One session per task, whatever breaks on the way: written down first, looked for before it is sent."""

from __future__ import annotations

import msgspec

from keepwarm._errors import InputError, ServerError
from keepwarm._text import visible
from keepwarm.repair.agents.base import Clock, Submitted
from keepwarm.repair.agents.devin_answers import Opened
from keepwarm.repair.agents.devin_api import SessionsApi, Wanted
from keepwarm.repair.agents.ledger import Entry, Ledger
from keepwarm.repair.agents.wire import LostAnswer, NotSent, Refused

_LOOK_PAUSES_S = (0.0, 2.0, 5.0, 15.0, 30.0)  # a list may lag behind
_CAP_TAG = "keepwarm-cap-"


def tag_of(key: str) -> str:
    """What the session of ``key`` is found by."""
    return f"keepwarm-{key[:32]}"


def cap_tag(max_acu_limit: int) -> str:
    """Says on a session what it may cost."""
    return f"{_CAP_TAG}{max_acu_limit}"


class Opening:
    """Opens a session, or finds the one that is there."""

    def __init__(self, api: SessionsApi, ledger: Ledger, clock: Clock) -> None:
        self._api = api
        self._ledger = ledger
        self._clock = clock

    def once(self, entry: Entry, wanted: Wanted) -> Submitted:
        """The session of ``entry``. Mutates the ledger, and the service if there is none yet.

        Raises:
            InputError: it was opened with another cap, or the ledger cannot be used.
            ServerError: the service refuses, or whether there is a session is not known.
        """
        with self._ledger.locked(entry.key):
            known = self._ledger.read(entry.key)
            if known is not None:
                _same_cap(known.max_acu_limit, entry.max_acu_limit)
                if known.session is not None:
                    return Submitted(id=known.session, url=known.url)
            tag = tag_of(entry.key)
            opened = self._find(tag, entry.max_acu_limit) if known is None else self._look(tag, entry)
            if opened is None:
                opened = self._open(entry, wanted, is_first=known is None)
            url = _plain_url(opened.url)
            self._ledger.write(msgspec.structs.replace(entry, session=opened.id, url=url))
        return Submitted(id=opened.id, url=url)

    def _open(self, entry: Entry, wanted: Wanted, *, is_first: bool) -> Opened:
        self._ledger.write(entry)
        try:
            return self._api.open(wanted)
        except (NotSent, Refused):
            if is_first:  # otherwise the request before this one may have arrived
                self._ledger.forget(entry.key)
            raise
        except LostAnswer:
            if not is_first:
                raise
            found = self._look(tag_of(entry.key), entry)
            return found if found is not None else self._api.open(wanted)

    def _look(self, tag: str, entry: Entry) -> Opened | None:
        """The session of a request whose answer nobody saw. None: the request may be sent once more."""
        for pause_s in _LOOK_PAUSES_S:
            self._clock.sleep(pause_s)
            if (found := self._find(tag, entry.max_acu_limit)) is not None:
                return found
        if self._api.repeats_safely:
            return None
        raise ServerError(
            f"this task was sent once and the answer lost; Devin lists no session with tag {tag}. None is "
            "opened while that is not certain: look in Devin, then take the next number for --attempt"
        )

    def _find(self, tag: str, max_acu_limit: int) -> Opened | None:
        found = self._api.find(tag)
        if len({opened.id for opened in found}) > 1:
            names = ", ".join(visible(opened.id) for opened in found[:3])
            raise ServerError(f"Devin has several sessions with tag {tag}: {names}; end all but one")
        for opened in found:
            caps = [tag.removeprefix(_CAP_TAG) for tag in opened.tags if tag.startswith(_CAP_TAG)]
            if caps and caps[0].isdigit():
                _same_cap(int(caps[0]), max_acu_limit)
            return opened
        return None


def _same_cap(was: int, now: int) -> None:
    if was != now:
        raise InputError(
            f"this task was sent with --max-acu-limit {was}, which cannot be changed to {now}; give {was} to "
            "follow its session, or take the next number for --attempt to pay for another one"
        )


def _plain_url(url: str | None) -> str | None:
    return url if url is not None and url.startswith(("https://", "http://")) and url.isprintable() else None
