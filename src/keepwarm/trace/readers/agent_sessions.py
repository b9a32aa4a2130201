"""Hash-only traces of coding-agent sessions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from keepwarm.trace.readers.base import CERTAIN, Reader, Unusable
from keepwarm.trace.readers.chat import kind
from keepwarm.trace.readers.fields import as_count, as_duration, as_list, as_object, as_text
from keepwarm.trace.readers.mooncake import hashed_prompt
from keepwarm.trace.records import JsonObject, Request, Skipped, Usage

BLOCK_SIZE_TOKENS = 64


class AgentSessionsReader(Reader):
    """Hash-only traces of coding-agent sessions, one session a line, as kv-cache-tester keeps them.

    A line holds `id`, `block_size`, `tool_tokens`, `system_tokens` and `requests`, each with `t` (seconds
    since the start of the session), `model`, `in` and `out` (tokens), `hash_ids`, `api_time`, `ttft` and
    `think_time` (seconds), `input_types`, what is new in its prompt, and `output_types`; where those of the
    request before are empty, the answer was not recorded, and a prompt without a tool's result may follow a
    tool all the same. Entries of the type `subagent` nest `requests` of their own, timed from the entry's
    `t`; they are a session of their own, named `session/agent`. Ids of full blocks only, local to the session
    and its subagents, which share them. There are no absolute times: sessions all start at 0 and overlap.
    """

    name = "agent-sessions"
    prompt_texts_known = False
    prompt_complete = False
    one_clock = False

    @staticmethod
    def score(record: JsonObject) -> float:
        """By a list of requests with block ids."""
        entries = as_list(record.get("requests"))
        if not entries or not ("hash_id_scope" in record or "block_size" in record):
            return 0.0
        entry = as_object(entries[0])
        return CERTAIN if "hash_ids" in entry or "requests" in entry else 0.0

    def read(self, record: JsonObject, line: int) -> Iterator[Request | Skipped]:
        """All requests of the session, subagents where they were started."""
        entries = record.get("requests")
        if not isinstance(entries, list):
            raise Unusable(f"requests is {kind(entries)}; a list is expected")
        name = as_text(record.get("id")) or f"line-{line}"
        session = _Session(
            line=line,
            name=name,
            start_s=0.0,
            block_size=as_count(record.get("block_size")) or BLOCK_SIZE_TOKENS,
            scope=None if record.get("hash_id_scope") == "global" else name,
            tool_tokens=as_count(record.get("tool_tokens")),
            system_tokens=as_count(record.get("system_tokens")),
        )
        before: JsonObject = {}
        for number, entry in enumerate(entries):
            try:
                if isinstance(entry, dict) and "requests" in entry:
                    yield from _subagent(entry, number, session)
                else:
                    yield _request(entry, f"{name}/{number}", session, before)
                    before = entry
            except Unusable as error:
                yield Skipped(line, f"requests[{number}]: {error}")


class _Session(NamedTuple):
    """What all requests of one line, or of one subagent in it, have in common."""

    line: int
    name: str
    start_s: float
    block_size: int
    scope: str | None
    tool_tokens: int | None
    system_tokens: int | None


def _subagent(entry: JsonObject, number: int, parent: _Session) -> Iterator[Request]:
    agent = as_text(entry.get("agent_id")) or str(number)
    session = parent._replace(
        name=f"{parent.name}/{agent}",
        start_s=as_duration(entry.get("t")) or 0.0,
        tool_tokens=as_count(entry.get("tool_tokens")),
        system_tokens=as_count(entry.get("system_tokens")),
    )
    before: JsonObject = {}
    for nested_number, nested in enumerate(as_list(entry["requests"])):
        if isinstance(nested, dict) and "requests" in nested:
            raise Unusable("a subagent within a subagent is not known in this format")
        yield _request(nested, f"{parent.name}/{number}.{nested_number}", session, before)
        before = nested


def _request(entry: Any, request_id: str, session: _Session, before: JsonObject) -> Request:
    if not isinstance(entry, dict):
        raise Unusable(f"it is {kind(entry)}; an object is expected")
    time_s = as_duration(entry.get("t"))
    begun = None if time_s is None else session.start_s + time_s
    api_time = as_duration(entry.get("api_time"))
    hashed = hashed_prompt(entry, session.block_size, length_key="in", scope=session.scope)
    return Request(
        line=session.line,
        id=request_id,
        time_s=begun,
        session=session.name,
        model=as_text(entry.get("model")) or "",
        hashed=msgspec.structs.replace(
            hashed, tool_tokens=session.tool_tokens, system_tokens=session.system_tokens
        ),
        usage=Usage(prompt_tokens=hashed.input_tokens, output_tokens=as_count(entry.get("out"))),
        ttft_s=as_duration(entry.get("ttft")),
        end_s=None if begun is None or api_time is None else begun + api_time,
        gap_s=as_duration(entry.get("think_time")),
        after_tool=_after_tool(entry, before),
    )


def _after_tool(entry: JsonObject, before: JsonObject) -> bool | None:
    """None where nothing tells: of an answer that was not recorded, a call in it is not known either."""
    new_parts = entry.get("input_types")
    if not isinstance(new_parts, list):
        return None
    if "tool_result" in new_parts:
        return True
    return None if before.get("output_types") == [] else False
