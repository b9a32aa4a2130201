"""Which requests belong together, and which earlier request each one continues."""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Sequence

import msgspec

from keepwarm.trace.catalog import Catalog, Row
from keepwarm.trace.columns import Made
from keepwarm.trace.hashes import BlockHashes

_LOOK_BACK = 8  # requests of a session that may run side by side, as parallel tools or samples do


class Lineage(msgspec.Struct, frozen=True):
    """Per request, in catalog order: its session, and the index of the request it continues."""

    sessions: Sequence[str]
    parents: Sequence[int | None]


def trace_lineage(catalog: Catalog, sites: Sequence[int], blocks: Sequence[BlockHashes]) -> Lineage:
    """Sessions as recorded, else inferred from growing prompts; parents within session and site.

    ``sites`` and ``blocks`` are the call site and the block hashes of each request. A prompt without
    messages (recorded as text or hashes) continues the one whose last full block is among its own.
    The parent is the latest of the few newest requests of the session that shares most of the
    conversation, so that a branch is compared with its own past and a variant with the newest turn.
    """
    sessions = _sessions(catalog, blocks)
    newest: dict[tuple[str, int], int] = {}  # of a session and site
    before = array("q")  # the request before each in its session and site, -1 for none
    parents = array("q")
    for row, session, site in zip(catalog.rows, sessions, sites, strict=True):
        last = newest.get((session, site), -1)
        earlier = [catalog.rows[index] for index in _back(before, last)]
        before.append(last)
        newest[session, site] = row.index
        parents.append(_parent(catalog, row, earlier) if earlier else -1)
    return Lineage(sessions, Made(len(parents), lambda at: parents[at] if parents[at] >= 0 else None))


def _back(before: Sequence[int], last: int) -> list[int]:
    """The newest requests up to ``last``, in order."""
    found: list[int] = []
    while last >= 0 and len(found) < _LOOK_BACK:
        found.append(last)
        last = before[last]
    return found[::-1]


def _parent(catalog: Catalog, row: Row, earlier: Sequence[Row]) -> int:
    newest = earlier[-1]
    longest = max(len(candidate.messages) for candidate in earlier)
    if len(newest.messages) == longest and row.messages[:longest] == newest.messages:
        return newest.index  # the usual case: the session just grows
    for candidate in reversed(earlier):
        if _is_next_turn(catalog, candidate, row):
            return candidate.index
    mine = _keys(catalog, row)
    # The newest of those that share most: the first in this order.
    return max(reversed(earlier), key=lambda candidate: (mine & _keys(catalog, candidate)).total()).index


def _keys(catalog: Catalog, row: Row) -> Counter[int]:
    return Counter(catalog.message_key(content) for content in row.messages)


def _is_next_turn(catalog: Catalog, candidate: Row, row: Row) -> bool:
    """Whether ``row`` is ``candidate``, one answer, and what came after it, word for word."""
    count = len(candidate.messages)
    if count < 2 or row.messages[:count] != candidate.messages:
        return False
    added = [catalog.message(content).get("role") for content in row.messages[count:]]
    return added.count("assistant") == 1


def _sessions(catalog: Catalog, blocks: Sequence[BlockHashes]) -> list[str]:
    """The recorded session, or the one whose earlier conversation this request begins with."""
    by_history: dict[bytes, str] = {}
    by_last_block: dict[int, str] = {}
    names: dict[str, str] = {}  # so that requests of a session share one text
    sessions: list[str] = []
    for row in catalog.rows:
        session = None if row.session is None else names.setdefault(row.session, row.session)
        turns = _histories(catalog, row)
        hashes = blocks[row.index].tolist() if session is None and not row.messages else []
        if session is None:
            continued = _continued(turns, by_history) if turns else _grown(hashes, by_last_block)
            session = continued or f"~{row.index + 1}"
        if turns:
            by_history[turns[-1]] = session
        if hashes:
            by_last_block[hashes[-1]] = session
        sessions.append(session)
    return sessions


def _histories(catalog: Catalog, row: Row) -> list[bytes]:
    """A digest of the conversation up to each turn, without what an application puts in front of it."""
    digests: list[bytes] = []
    for content in row.messages:
        if not catalog.is_head(content):
            before = digests[-1] if digests else b""
            own = content.to_bytes(8, "little")
            digests.append(hashlib.blake2b(before + own, digest_size=16).digest())
    return digests


def _grown(hashes: Sequence[int], by_last_block: dict[int, str]) -> str | None:
    return next((by_last_block[value] for value in reversed(hashes) if value in by_last_block), None)


def _continued(turns: Sequence[bytes], by_history: dict[bytes, str]) -> str | None:
    return next((by_history[turn] for turn in reversed(turns[:-1]) if turn in by_history), None)
