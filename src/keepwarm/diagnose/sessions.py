"""Which requests belong together, and which earlier request each one continues."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Sequence

import msgspec

from keepwarm.trace.catalog import HEAD_ROLES, Catalog, ContentId, Row
from keepwarm.trace.hashes import BlockHashes

_LOOK_BACK = 8  # requests of a session that may run side by side, as parallel tools or samples do


class Lineage(msgspec.Struct, frozen=True):
    """Per request, in catalog order: its session, and the index of the request it continues."""

    sessions: tuple[str, ...]
    parents: tuple[int | None, ...]


def trace_lineage(catalog: Catalog, sites: Sequence[int], blocks: Sequence[BlockHashes]) -> Lineage:
    """Sessions as recorded, else inferred from growing prompts; parents within session and site.

    ``sites`` and ``blocks`` are the call site and the block hashes of each request. A prompt without
    messages (recorded as text or hashes) continues the one whose last full block is among its own.
    The parent is the latest of the few newest requests of the session that shares most of the
    conversation, so that a branch is compared with its own past and a variant with the newest turn.
    """
    sessions = _sessions(catalog, blocks)
    recent: dict[tuple[str, int], deque[Row]] = defaultdict(lambda: deque(maxlen=_LOOK_BACK))
    parents: list[int | None] = []
    for row, session, site in zip(catalog.rows, sessions, sites, strict=True):
        earlier = recent[session, site]
        parents.append(_parent(catalog, row, earlier))
        earlier.append(row)
    return Lineage(tuple(sessions), tuple(parents))


def _parent(catalog: Catalog, row: Row, earlier: Sequence[Row]) -> int | None:
    if not earlier:
        return None
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
    by_history: dict[tuple[ContentId, ...], str] = {}
    by_last_block: dict[int, str] = {}
    sessions: list[str] = []
    for row, own in zip(catalog.rows, blocks, strict=True):
        session = row.session
        turns = _turns(catalog, row)
        hashes = own.tolist() if session is None and not row.messages else []
        if session is None:
            continued = _continued(turns, by_history) if turns else _grown(hashes, by_last_block)
            session = continued or f"~{row.index + 1}"
        if turns:
            by_history[turns] = session
        if hashes:
            by_last_block[hashes[-1]] = session
        sessions.append(session)
    return sessions


def _turns(catalog: Catalog, row: Row) -> tuple[ContentId, ...]:
    """The conversation without what an application puts in front of it."""
    return tuple(
        content for content in row.messages if catalog.message(content).get("role") not in HEAD_ROLES
    )


def _grown(hashes: Sequence[int], by_last_block: dict[int, str]) -> str | None:
    return next((by_last_block[value] for value in reversed(hashes) if value in by_last_block), None)


def _continued(turns: tuple[ContentId, ...], by_history: dict[tuple[ContentId, ...], str]) -> str | None:
    for length in range(len(turns) - 1, 0, -1):
        session = by_history.get(turns[:length])
        if session is not None:
            return session
    return None
