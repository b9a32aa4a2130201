"""Tells the table of sessions what happens to vLLM's requests. Nothing raises; what goes wrong is a fault."""

from __future__ import annotations

from typing import Any

from keepwarm.policies.sessions import SessionId
from keepwarm.vllm.serving.identity import SessionFinder, named_session
from keepwarm.vllm.serving.state import EngineState


class SessionKeeper:
    """Of one engine: every request has a session from its arrival to its end."""

    def __init__(self, state: EngineState, block_size: int) -> None:
        self._state = state
        self._block_size = block_size
        self._finder = SessionFinder(state.settings.sessions, self._is_idle)

    def blocks(self, tokens: int) -> int:
        """What so many tokens take."""
        return -(-tokens // self._block_size)

    def arrived(self, request: Any, now_s: float) -> SessionId:
        """A request has come and waits; its session, one of its own if anything goes wrong."""
        state = self._state
        try:
            session = self._session(request)
            state.sessions[request.request_id] = session
            state.table.now_s = now_s
            for tell in state.on_arrival:
                tell(request, session)
            state.table.arrived(session, self.blocks(request.num_tokens), now_s)
        except Exception as error:  # noqa: BLE001 - nothing may reach the scheduler
            state.faults.note("sessions", error)
            session = SessionId(f"request:{request.request_id}")
            state.sessions.setdefault(request.request_id, session)
        return session

    def ended(self, request: Any, now_s: float) -> None:
        """A request is over, finished or given up, and its blocks are free."""
        state = self._state
        try:
            session = state.sessions.pop(request.request_id, None)
            if session is None:
                return
            state.table.ended(session, self.blocks(request.num_tokens - 1), now_s)
            self._finder.remember(
                session, request.block_hashes, request.num_prompt_tokens // self._block_size
            )
        except Exception as error:  # noqa: BLE001 - nothing may reach the scheduler
            state.faults.note("sessions", error)

    def _session(self, request: Any) -> SessionId:
        session = named_session(request.session_id)
        if session is not None:
            return session
        counters = self._state.counters
        if request.session_id is not None:
            counters.add("malformed_session_ids")
        counters.add("sessions_by_prefix")
        return self._finder.find(request.block_hashes)

    def _is_idle(self, session: SessionId) -> bool:
        known = self._state.table.get(session)
        return known is None or not known.requests
