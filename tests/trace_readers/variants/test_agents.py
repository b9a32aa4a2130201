"""SWE-agent's trajectories, and sessions without text: forms that the labelled files do not show."""

from __future__ import annotations

from pathlib import Path

from keepwarm.trace.open import open_trace
from tests.trace_readers.reading import SYSTEM, USER, one, read
from tests.trace_readers.samples import agent_session


def test_trajectory_with_queries_or_history_only(tmp_path: Path) -> None:
    answer = {"role": "assistant", "content": "do"}
    seen = {"role": "user", "content": "seen", "agent": "main"}
    steps = [
        {"query": [SYSTEM, USER], "response": "do"},
        {"query": [SYSTEM, USER, answer, seen], "response": "end"},
    ]
    by_query, _ = read(tmp_path, {"trajectory": steps, "info": {}}, expect="swe-agent-traj")
    history = [
        SYSTEM,
        {**answer, "is_demo": True},
        USER,
        answer,
        seen,
        {"role": "assistant", "content": "end"},
    ]
    by_history, _ = read(
        tmp_path, {"trajectory": [{"action": "do"}], "history": history}, expect="swe-agent-traj"
    )
    assert [len(request.messages) for request in by_query] == [2, 4]
    assert by_query[1].messages[-1] == {"role": "user", "content": "seen"}
    assert [len(request.messages) for request in by_history] == [3, 5]
    assert by_query[0].answer == by_history[0].answer == answer


def test_trajectory_whose_messages_end_before_the_answer(tmp_path: Path) -> None:
    answer = {"role": "assistant", "content": "do"}
    step = {"messages": [SYSTEM, USER, answer, USER], "response": "something else", "observation": "o"}
    request = one(tmp_path, {"trajectory": [step], "info": {}}, "swe-agent-traj")
    assert request.messages == [SYSTEM, USER, answer, USER]


def test_agent_sessions_and_their_subagents(tmp_path: Path) -> None:
    requests, skipped = read(tmp_path, agent_session("a"), agent_session("b"), expect="agent-sessions")
    assert skipped == ()
    assert [request.session for request in requests[:3]] == ["a", "a/agent_001", "a"]
    assert [request.time_s for request in requests[:3]] == [0.0, 12.0, 20.0]
    hashed = [request.hashed for request in requests if request.hashed is not None]
    assert [prompt.scope for prompt in hashed] == ["a", "a", "a", "b", "b", "b"]
    assert hashed[2].hash_ids == [1, 2, 3]
    assert requests[0].end_s == 1.5
    assert requests[2].ttft_s == 0.5


def test_real_agent_sessions_count(shared: Path) -> None:
    trace = open_trace(shared / "data" / "agent_sessions" / "claude_code_sessions.jsonl.gz")
    assert trace.format == "agent-sessions"
    assert sum(1 for _ in trace.requests()) == 8930
    assert trace.skipped == ()
