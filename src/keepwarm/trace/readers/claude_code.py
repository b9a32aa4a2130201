"""Session logs of Claude Code."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from keepwarm.trace.readers.anthropic_blocks import add_anthropic_message, anthropic_answer
from keepwarm.trace.readers.base import CERTAIN, Reader, Unusable
from keepwarm.trace.readers.dialogue import Dialogue
from keepwarm.trace.readers.fields import anthropic_usage, as_list, as_object, as_seconds, as_text
from keepwarm.trace.records import JsonObject, Request, Skipped


class _Group(msgspec.Struct, kw_only=True, eq=False):
    """The lines of one model call: the client writes one line per block of the answer."""

    id: str
    line: int
    session: str
    parent: str | None
    model: str
    blocks: list[Any] = []
    usage: Any = None
    time_s: float | None = None
    end_s: float | None = None
    complete: bool = False


class _Node(msgspec.Struct, frozen=True, eq=False):
    """A line with a uuid; ``messages`` of a user's line, ``group`` of the model's."""

    parent: str | None
    root: str
    line: int
    time_s: float | None
    messages: tuple[JsonObject, ...] = ()
    group: _Group | None = None


class ClaudeCodeReader(Reader):
    """Session logs of Claude Code (`~/.claude/projects/.../*.jsonl`, one or several of them in a file).

    Lines form a tree (`uuid`, `parentUuid`); lines of one `requestId` are one call, whose prompt is what lies
    above it in the tree, so rewinds are branches and a compaction starts anew. Results of tools that ran in
    parallel lie beside that path and are put back. Sidechains (subagents) are sessions of their own. System
    text and tools are not in the file. Summaries, snapshots and synthetic error messages are no requests.
    """

    name = "claude-code"
    prompt_complete = False

    def __init__(self) -> None:
        self._nodes: dict[str, _Node] = {}
        self._results: dict[str, str] = {}  # uuid of the line with the result, by tool_use id
        self._open: dict[str, _Group] = {}  # by session
        self._waiting: deque[_Group] = deque()
        self._history: dict[str, tuple[_Group, list[JsonObject]]] = {}  # the last prompt, by session

    @staticmethod
    def score(record: JsonObject) -> float:
        """By the session and the tree, or a type of line that only these logs have."""
        if "sessionId" in record and ("uuid" in record or "parentUuid" in record):
            return CERTAIN
        if "leafUuid" in record or ("messageId" in record and "snapshot" in record):
            return CERTAIN
        return CERTAIN if record.get("type") == "queue-operation" and "sessionId" in record else 0.0

    def read(self, record: JsonObject, line: int) -> Iterator[Request | Skipped]:
        """Calls that are complete because a later one of their session has begun."""
        line_type = record.get("type")
        uuid = as_text(record.get("uuid"))
        if uuid is None:
            if not isinstance(line_type, str) or line_type in ("user", "assistant"):
                raise Unusable("no uuid, so it has no place in the conversation")
            return
        parent = as_text(record.get("parentUuid"))
        above = self._nodes.get(parent) if parent is not None else None
        root = uuid if above is None else above.root
        time_s = as_seconds(record.get("timestamp"))
        node = _Node(parent, root, line, time_s)
        self._nodes[uuid] = node  # even if its content is unusable, what follows hangs on it
        if line_type == "user":
            messages = self._user_messages(record, uuid)
            self._nodes[uuid] = _Node(parent, root, line, time_s, messages)
        elif line_type == "assistant":
            yield from self._add_answer(record, uuid, node)

    def finish(self) -> Iterable[Request | Skipped]:
        """The last call of each session."""
        for group in self._waiting:
            group.complete = True
        return self._completed()

    def _user_messages(self, record: JsonObject, uuid: str) -> tuple[JsonObject, ...]:
        message = record.get("message")
        dialogue = Dialogue()
        add_anthropic_message(dialogue, message, "message")
        for block in as_list(as_object(message).get("content")):
            result_of = as_text(as_object(block).get("tool_use_id"))
            if result_of is not None:
                self._results.setdefault(result_of, uuid)
        return tuple(dialogue.messages)

    def _add_answer(self, record: JsonObject, uuid: str, node: _Node) -> Iterator[Request | Skipped]:
        message = as_object(record.get("message"))
        if not isinstance(message.get("content"), list):
            raise Unusable("an assistant line without a list of content")
        if record.get("isApiErrorMessage") is True or message.get("model") == "<synthetic>":
            return
        call_id = as_text(record.get("requestId")) or as_text(message.get("id")) or uuid
        session = _session_of(record, node)
        group = self._open.get(session)
        if group is None or group.id != call_id:
            if group is not None:
                group.complete = True
            group = self._begin(call_id, session, message, node)
        group.blocks.extend(message["content"])
        group.usage = message.get("usage") or group.usage
        group.end_s = node.time_s
        self._nodes[uuid] = _Node(node.parent, node.root, node.line, node.time_s, (), group)
        yield from self._completed()

    def _begin(self, call_id: str, session: str, message: JsonObject, node: _Node) -> _Group:
        above = self._nodes.get(node.parent or "")
        group = _Group(
            id=call_id,
            line=node.line,
            session=session,
            parent=node.parent,
            model=as_text(message.get("model")) or "",
            blocks=[],
            time_s=node.time_s if above is None else above.time_s,
        )
        self._open[session] = group
        self._waiting.append(group)
        return group

    def _completed(self) -> Iterator[Request | Skipped]:
        """Complete calls, as far as no incomplete one stands before them in the file."""
        while self._waiting and self._waiting[0].complete:
            group = self._waiting.popleft()
            messages = self._prompt_of(group)
            if not messages:
                yield Skipped(group.line, f"nothing above call {group.id!r} is in the file")
                continue
            yield Request(
                line=group.line,
                id=group.id,
                time_s=group.time_s,
                session=group.session,
                model=group.model,
                messages=messages,
                answer=anthropic_answer(group.blocks),
                usage=anthropic_usage(group.usage),
                end_s=group.end_s,
            )

    def _prompt_of(self, group: _Group) -> list[JsonObject]:
        """Messages above a call: the last prompt of its session, if on the way, and what came after it."""
        last, messages = self._history.get(group.session, (None, []))
        path: list[_Node] = []
        seen: set[str] = set()
        uuid = group.parent
        joined = False
        while uuid is not None and uuid not in seen:
            seen.add(uuid)
            node = self._nodes.get(uuid)
            if node is None:
                break
            path.append(node)
            uuid = node.parent if node.group is None else node.group.parent
            if node.group is not None and node.group is last:
                joined = True
                break
        prompt = list(messages) if joined else []
        for node in reversed(path):
            if node.group is None:
                prompt.extend(node.messages)
            else:
                prompt.extend(self._answered(node.group, seen, group.line))
        self._history[group.session] = (group, prompt)
        return prompt

    def _answered(self, group: _Group, on_path: set[str], before_line: int) -> Iterator[JsonObject]:
        """An earlier answer, and those results of its tools that do not lie on the path."""
        answer = anthropic_answer(group.blocks)
        if answer is not None:
            yield answer
        for block in group.blocks:
            uuid = self._results.get(as_text(as_object(block).get("id")) or "")
            node = self._nodes.get(uuid) if uuid is not None and uuid not in on_path else None
            if node is not None and node.line < before_line:
                yield from node.messages


def _session_of(record: JsonObject, node: _Node) -> str:
    session = as_text(record.get("sessionId")) or node.root
    agent = as_text(record.get("agentId"))
    if agent is None and record.get("isSidechain") is True:
        agent = node.root
    return session if agent is None else f"{session}/{agent}"
