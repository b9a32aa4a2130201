"""Which session a request belongs to: the one it names, else that whose last context its prompt begins with.

An agent sends its whole history again with every request, so the newest request of a session is known by the
hash of a block at its end: the hash chains everything before. Two are remembered of each session, the last
full block of its prompt and of its context with the answer, since a template may render an answer otherwise.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from keepwarm.policies.sessions import SessionId

LONGEST_ID = 256  # characters
_BY_PREFIX = "prefix:"


class SessionFinder:
    """Bounded: of ``most_sessions`` the tails are remembered, those heard of last."""

    def __init__(self, most_sessions: int, is_idle: Callable[[SessionId], bool]) -> None:
        self._most_sessions = most_sessions
        self._is_idle = is_idle
        self._owner: dict[Hashable, SessionId] = {}
        self._tails: OrderedDict[SessionId, tuple[Hashable, ...]] = OrderedDict()
        self._made = 0

    def find(self, block_hashes: Sequence[Hashable]) -> SessionId:
        """The idle session that a prompt of these full blocks continues, else a new one. O(blocks)."""
        owner = self._owner
        if owner:
            for block_hash in reversed(block_hashes):
                session = owner.get(block_hash)
                if session is not None:
                    if self._is_idle(session):
                        return session
                    break  # its newest request is still there: this one is another's
        self._made += 1
        return SessionId(f"{_BY_PREFIX}{self._made}")

    def remember(self, session: SessionId, block_hashes: Sequence[Hashable], prompt_blocks: int) -> None:
        """The newest context of ``session``: its full blocks, ``prompt_blocks`` of them the prompt's."""
        if not block_hashes:
            return
        for block_hash in self._tails.pop(session, ()):
            if self._owner.get(block_hash) == session:
                del self._owner[block_hash]
        prompt_end = block_hashes[min(max(prompt_blocks, 1), len(block_hashes)) - 1]
        tails = (prompt_end, block_hashes[-1])
        self._tails[session] = tails
        for block_hash in tails:
            self._owner[block_hash] = session
        if len(self._tails) > self._most_sessions:
            oldest, its_tails = self._tails.popitem(last=False)
            for block_hash in its_tails:
                if self._owner.get(block_hash) == oldest:
                    del self._owner[block_hash]


def named_session(session_id: Any) -> SessionId | None:
    """The id that a client gave, None if it cannot be used: no text, empty, or too long."""
    if isinstance(session_id, str) and 0 < len(session_id) <= LONGEST_ID:
        return SessionId(session_id)
    return None
