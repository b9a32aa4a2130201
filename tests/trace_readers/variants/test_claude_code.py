"""Session files of Claude Code: forms that the labelled files do not show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.trace_readers.reading import read


def claude(uuid: str, parent: str | None, **more: Any) -> dict[str, Any]:
    return {"uuid": uuid, "parentUuid": parent, "sessionId": "s", "isSidechain": False, **more}


def claude_user(uuid: str, parent: str | None, content: Any, **more: Any) -> dict[str, Any]:
    return claude(uuid, parent, type="user", message={"role": "user", "content": content}, **more)


def claude_answer(uuid: str, parent: str | None, call: str, block: Any, **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "model": "c", "id": f"msg-{call}", "content": [block]}
    return claude(uuid, parent, type="assistant", requestId=call, message=message, **more)


def use(call_id: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "look", "input": {}}


def result(call_id: str) -> list[dict[str, Any]]:
    return [{"type": "tool_result", "tool_use_id": call_id, "content": call_id}]


def test_claude_code_parallel_tools(tmp_path: Path) -> None:
    """Lines of one call with results between them; only one of the results is on the path."""
    requests, skipped = read(
        tmp_path,
        {"type": "summary", "summary": "x", "leafUuid": "y"},
        claude_user("u1", None, "go"),
        claude_answer("a1", "u1", "q1", {"type": "text", "text": "both"}),
        claude_answer("a2", "a1", "q1", use("t1")),
        claude_user("r1", "a2", result("t1")),
        claude_answer("a3", "a2", "q1", use("t2")),
        claude_user("r2", "a3", result("t2")),
        claude_answer("a4", "r2", "q2", {"type": "text", "text": "done"}),
        expect="claude-code",
    )
    assert skipped == ()
    assert [request.id for request in requests] == ["q1", "q2"]
    assert [message["role"] for message in requests[1].messages] == ["user", "assistant", "tool", "tool"]
    assert len(requests[1].messages[1]["tool_calls"]) == 2
    assert [message.get("tool_call_id") for message in requests[1].messages[2:]] == ["t1", "t2"]
    assert requests[0].answer == requests[1].messages[1]


def test_claude_code_sidechain_rewind_and_compaction(tmp_path: Path) -> None:
    text = {"type": "text", "text": "ok"}
    requests, skipped = read(
        tmp_path,
        claude_user("u1", None, "one"),
        claude_answer("a1", "u1", "q1", text),
        claude_user("s1", None, "sub", isSidechain=True),
        claude_answer("s2", "s1", "q2", text, isSidechain=True),
        claude_user("u2", "a1", "two"),
        claude_answer("a2", "u2", "q3", text),
        claude_user("u3", "a1", "two, otherwise"),
        claude_answer("a3", "u3", "q4", text),
        claude("c1", None, type="system", subtype="compact_boundary", logicalParentUuid="a3"),
        claude_user("c2", "c1", "summary", isCompactSummary=True),
        claude_answer("a4", "c2", "q5", text),
        claude_answer("e1", "a4", "q6", text, isApiErrorMessage=True),
        claude_answer("a5", "absent", "q7", text),
        expect="claude-code",
    )
    assert [request.id for request in requests] == ["q1", "q2", "q3", "q4", "q5"]
    assert [request.session for request in requests] == ["s", "s/s1", "s", "s", "s"]
    said = [[message["content"] for message in request.messages] for request in requests]
    assert said == [["one"], ["sub"], ["one", "ok", "two"], ["one", "ok", "two, otherwise"], ["summary"]]
    assert [skip.line for skip in skipped] == [13]
