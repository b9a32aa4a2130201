"""Forms of the formats that the labelled files do not show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from keepwarm._errors import TraceError
from keepwarm.trace.open import open_trace
from keepwarm.trace.records import Request, Skipped, Usage
from tests.trace_readers.samples import agent_session

USER = {"role": "user", "content": "hello"}
SYSTEM = {"role": "system", "content": "be brief"}
TOOL = {"name": "look", "description": "Looks.", "parameters": {"type": "object", "properties": {}}}


def read(tmp_path: Path, *records: Any, expect: str) -> tuple[list[Request], tuple[Skipped, ...]]:
    path = tmp_path / "trace"
    lines = (record if isinstance(record, str) else json.dumps(record) for record in records)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    trace = open_trace(path)
    requests = list(trace.requests())
    assert trace.format == expect
    return requests, trace.skipped


def one(tmp_path: Path, record: Any, expect: str) -> Request:
    (request,), skipped = read(tmp_path, record, expect=expect)
    assert skipped == ()
    return request


def test_chat_as_a_proxy_writes_it(tmp_path: Path) -> None:
    record = {
        "request": {
            "model": "m",
            "messages": [USER],
            "metadata": {"prompt_name": "greet"},
            "cache_salt": "x",
        },
        "response": {
            "prompt_token_ids": [1, 2],
            "choices": [{"message": {"role": "assistant", "content": "hi"}, "token_ids": [3]}],
        },
        "usage": {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 8}},
        "start": 100.0,
        "end": 102.0,
        "time_to_first_token": 0.25,
        "metadata": {"conversation_id": 12},
        "engine": {"block_size": 32},
        "chat_template": "t.jinja",
    }
    request = one(tmp_path, record, "openai-chat")
    assert request == Request(
        line=1,
        id="line-1",
        time_s=100.0,
        session="12",
        call_site="greet",
        model="m",
        messages=[USER],
        params={"cache_salt": "x"},
        prompt_token_ids=[1, 2],
        answer={"role": "assistant", "content": "hi"},
        answer_token_ids=[3],
        usage=Usage(prompt_tokens=9, output_tokens=2, cached_tokens=8),
        ttft_s=0.25,
        end_s=102.0,
        chat_template="t.jinja",
        block_size=32,
    )


def test_bare_chat_body(tmp_path: Path) -> None:
    body = {
        "model": "m",
        "messages": [SYSTEM, USER],
        "temperature": 0,
        "functions": [TOOL],
        "id": "x",
        "ts": 3,
    }
    request = one(tmp_path, body, "openai-chat")
    assert (request.id, request.time_s, request.params) == ("x", 3.0, {"temperature": 0})
    assert request.tools == [{"type": "function", "function": TOOL}]


@pytest.mark.parametrize(
    ("prompt", "text", "ids"), [("a b", "a b", None), ([5, 6], None, [5, 6]), (["a"], "a", None)]
)
def test_completions_body(tmp_path: Path, prompt: Any, text: str | None, ids: list[int] | None) -> None:
    request = one(tmp_path, {"body": {"model": "m", "prompt": prompt}}, "openai-chat")
    assert (request.prompt_text, request.prompt_token_ids, request.messages) == (text, ids, [])


def test_chat_content_stays_a_list_and_arguments_become_text(tmp_path: Path) -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": {"b": 1, "a": [2]}}}
    messages = [
        {
            "role": "developer",
            "content": [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}],
        },
        {"role": "user", "content": [picture, {"type": "text", "text": "y"}]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "z"},
    ]
    request = one(tmp_path, {"body": {"model": "m", "messages": messages}}, "openai-chat")
    assert request.messages[:2] == messages[:2]
    assert request.messages[2]["tool_calls"][0]["function"]["arguments"] == '{"b": 1, "a": [2]}'


def test_anthropic_blocks(tmp_path: Path) -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    body = {
        "model": "c",
        "max_tokens": 5,
        "system": [{"type": "text", "text": "one"}, {"type": "text", "text": "two", **mark}],
        "tools": [{"name": "look", "description": "Looks.", "input_schema": TOOL["parameters"], **mark}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "go", **mark}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "s"},
                    {"type": "text", "text": "looking"},
                    {"type": "tool_use", "id": "a", "name": "look", "input": {"z": 1, "b": 2}},
                    {"type": "tool_use", "id": "b", "name": "look", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "r"}]},
                    {"type": "tool_result", "tool_use_id": "b", "is_error": True},
                    {"type": "text", "text": "and?"},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}},
                ],
            },
        ],
    }
    request = one(tmp_path, {"body": body}, "anthropic-messages")
    calls = [
        {"id": "a", "type": "function", "function": {"name": "look", "arguments": '{"z": 1, "b": 2}'}},
        {"id": "b", "type": "function", "function": {"name": "look", "arguments": "{}"}},
    ]
    assert request.messages == [
        {"role": "system", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]},
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": "looking", "reasoning_content": "hm", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "a", "content": "r"},
        {"role": "tool", "tool_call_id": "b", "content": "", "is_error": True},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "and?"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}},
            ],
        },
    ]
    assert request.tools == [{"type": "function", "function": TOOL}]
    assert request.params == {"max_tokens": 5}


def test_responses_follow_the_previous_one(tmp_path: Path) -> None:
    output = [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
        {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"},
    ]
    result = {"type": "function_call_output", "call_id": "c", "output": "seen"}
    body = {"model": "m", "instructions": "be brief", "input": "hello"}
    follow = {"model": "m", "input": [result], "previous_response_id": "r1"}
    requests, skipped = read(
        tmp_path,
        {"body": body, "response": {"id": "r1", "output": output}},
        {"body": follow, "response": {"id": "r2"}},
        {"body": {**follow, "previous_response_id": "lost"}},
        expect="openai-responses",
    )
    assert requests[0].messages == [SYSTEM, USER]
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    said = {"role": "assistant", "content": None, "reasoning_content": "hm", "tool_calls": [call]}
    assert requests[1].messages == [USER, said, {"role": "tool", "tool_call_id": "c", "content": "seen"}]
    assert skipped[0].line == 3
    assert "'lost'" in skipped[0].reason


def test_batch_of_other_apis_and_its_output_file(tmp_path: Path) -> None:
    requests, skipped = read(
        tmp_path,
        {"custom_id": "a", "url": "/v1/responses", "body": {"model": "m", "input": "hello"}},
        {"custom_id": "b", "params": {"model": "m", "system": "be brief", "messages": [USER]}},
        {"custom_id": "c", "url": "/v1/embeddings", "body": {"model": "m", "input": ["x"], "dimensions": 3}},
        {"custom_id": "d", "id": "batch_req", "response": {"status_code": 200, "body": {}}},
        expect="openai-batch",
    )
    assert [request.messages for request in requests] == [[USER], [SYSTEM, USER]]
    assert [skip.line for skip in skipped] == [3, 4]
    output_only = tmp_path / "out"
    output_only.write_text(json.dumps({"custom_id": "d", "response": {"body": {}}}), encoding="utf-8")
    with pytest.raises(TraceError, match="batch output file"):
        list(open_trace(output_only).requests())


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


def codex(line_type: str, payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-05-20T10:00:00.000Z", "type": line_type, "payload": payload}


def codex_message(role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return codex(
        "response_item", {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
    )


def test_codex_compaction_parallel_calls_and_late_usage(tmp_path: Path) -> None:
    usage = {"last_token_usage": {"input_tokens": 10, "cached_input_tokens": 4, "output_tokens": 2}}
    calls = [{"type": "function_call", "call_id": c, "name": "look", "arguments": "{}"} for c in "ab"]
    outputs = [{"type": "function_call_output", "call_id": c, "output": c} for c in "ab"]
    requests, skipped = read(
        tmp_path,
        codex("session_meta", {"id": "s", "base_instructions": {"text": "be brief"}}),
        codex("turn_context", {"model": "m"}),
        codex_message("developer", "rules"),
        codex_message("user", "hello"),
        codex("response_item", {"type": "reasoning", "summary": [], "encrypted_content": "x"}),
        *(codex("response_item", call) for call in calls),
        *(codex("response_item", output) for output in outputs),
        codex("event_msg", {"type": "token_count", "info": usage}),
        codex_message("assistant", "done"),
        codex("event_msg", {"type": "token_count", "info": None}),
        codex("compacted", {"message": "what happened"}),
        codex_message("user", "more"),
        codex_message("assistant", "fine"),
        expect="codex-rollout",
    )
    assert skipped == ()
    roles = [[message["role"] for message in request.messages] for request in requests]
    assert roles == [
        ["system", "developer", "user"],
        ["system", "developer", "user", "assistant", "tool", "tool"],
        ["system", "user", "user"],
    ]
    assert requests[0].usage == Usage(prompt_tokens=10, output_tokens=2, cached_tokens=4)
    assert requests[1].usage == Usage()
    assert [request.model for request in requests] == ["m", "m", "m"]
    assert requests[2].messages[1]["content"] == "what happened"


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


def span(attributes: dict[str, Any], **more: Any) -> dict[str, Any]:
    pairs = [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()]
    return {"traceId": "t", "spanId": "1", "name": "chat", "attributes": pairs, **more}


def otlp(*spans: Any) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


def test_otel_numbered_attributes_several_spans_and_others(tmp_path: Path) -> None:
    numbered = {
        "gen_ai.operation.name": "chat",
        "gen_ai.prompt.0.role": "system",
        "gen_ai.prompt.0.content": "be brief",
        "gen_ai.prompt.1.role": "user",
        "gen_ai.prompt.1.content": "hello",
        "gen_ai.prompt.2.role": "assistant",
        "gen_ai.prompt.2.tool_calls.0.id": "c",
        "gen_ai.prompt.2.tool_calls.0.name": "look",
        "gen_ai.prompt.2.tool_calls.0.arguments": "{}",
        "gen_ai.prompt.10.role": "tool",
        "gen_ai.prompt.10.tool_call_id": "c",
        "gen_ai.prompt.10.content": "seen",
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.content": "done",
        "llm.request.functions.0.name": "look",
        "llm.request.functions.0.description": "Looks.",
        "llm.request.functions.0.parameters": json.dumps(TOOL["parameters"]),
    }
    requests, skipped = read(
        tmp_path,
        otlp(
            span({"gen_ai.operation.name": "execute_tool"}),
            span({"http.method": "GET"}),
            span(numbered, parentSpanId="0"),
            span({"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}, spanId="2"),
        ),
        expect="otel-genai",
    )
    (request,) = requests
    assert request.messages[:2] == [SYSTEM, USER]
    assert [message["role"] for message in request.messages] == ["system", "user", "assistant", "tool"]
    assert request.tools == [{"type": "function", "function": TOOL}]
    assert request.answer == {"role": "assistant", "content": "done"}
    assert request.session == "t"
    assert "span 2" in skipped[0].reason


@pytest.mark.parametrize("kind", ["details event", "message events", "prompt event"])
def test_otel_messages_in_events(tmp_path: Path, kind: str) -> None:
    parts = [{"role": "user", "parts": [{"type": "text", "content": "hello"}]}]
    pairs = [{"key": "gen_ai.input.messages", "value": {"stringValue": json.dumps(parts)}}]
    events: list[dict[str, Any]] = [
        {"name": "gen_ai.client.inference.operation.details", "attributes": pairs}
    ]
    attributes = {"gen_ai.operation.name": "chat"}
    if kind == "message events":
        events = [{"name": "gen_ai.user.message", "attributes": {"content": "hello"}}]
    elif kind == "prompt event":
        events, attributes = [], {**attributes, "gen_ai.prompt": json.dumps([USER])}
    request = one(tmp_path, otlp(span(attributes, events=events)), "otel-genai")
    assert request.messages == [USER]
    assert request.session is None


def test_otel_span_as_a_line_of_its_own(tmp_path: Path) -> None:
    line = {
        "name": "chat m",
        "context": {"trace_id": "0x1", "span_id": "0x2"},
        "start_time": "2026-05-20T10:00:00Z",
        "attributes": {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps([USER])},
    }
    request = one(tmp_path, line, "otel-genai")
    assert (request.id, request.messages, request.time_s) == ("0x2", [USER], 1779271200.0)


def test_langfuse_trace_with_observations(tmp_path: Path) -> None:
    generation = {
        "id": "g",
        "traceId": "t",
        "type": "GENERATION",
        "input": json.dumps([SYSTEM, USER]),
        "output": "fine",
        "modelParameters": {"tools": [{"type": "function", "function": TOOL}], "temperature": 1},
        "promptName": "greet",
        "usage": {"input": 5, "output": 2},
    }
    trace = {"id": "t", "sessionId": "s", "observations": [{"type": "SPAN", "traceId": "t"}, generation]}
    request = one(tmp_path, trace, "langfuse")
    assert request.messages == [SYSTEM, USER]
    assert request.tools == [{"type": "function", "function": TOOL}]
    assert (request.session, request.call_site, request.params) == ("s", "greet", {"temperature": 1})
    assert request.usage == Usage(prompt_tokens=5, output_tokens=2)
    alone = one(tmp_path, {**generation, "parentObservationId": "p"}, "langfuse")
    assert alone.session == "t"
    text = one(tmp_path, {**generation, "input": "once upon"}, "langfuse")
    assert (text.prompt_text, text.messages, text.session) == ("once upon", [], None)


def test_litellm_spend_log_and_callback(tmp_path: Path) -> None:
    spend = {
        "request_id": "r",
        "call_type": "acompletion",
        "model": "m",
        "startTime": "2026-05-20T10:00:00.000000",
        "messages": "{}",
        "proxy_server_request": json.dumps({"messages": [USER], "tools": [TOOL], "model": "alias"}),
        "session_id": "s",
        "metadata": "{}",
    }
    logged = {"model": "m", "messages": [USER], "optional_params": {"tools": [TOOL]}, "litellm_call_id": "c"}
    requests, skipped = read(
        tmp_path, spend, logged, {"call_type": "aembedding", "model": "e", "messages": []}, expect="litellm"
    )
    assert skipped == ()
    assert [request.id for request in requests] == ["r", "c"]
    assert requests[0].session == "s"
    assert all(request.messages == [USER] for request in requests)
    assert all(request.tools[0]["function"]["name"] == "look" for request in requests)


def test_sharegpt_lines_with_roles_and_system_beside(tmp_path: Path) -> None:
    turns = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]
    requests, skipped = read(
        tmp_path,
        {"conversations": turns, "system": "be brief"},
        {"conversations": [{"from": "gpt", "value": "hi"}]},
        {"conversations": [{"from": "human", "value": "hello"}, {"from": "gpt", "value": 5}]},
        expect="sharegpt",
    )
    assert [request.messages for request in requests] == [[SYSTEM, USER]]
    assert [skip.line for skip in skipped] == [2, 3]


VLLM = "INFO 12-31 23:59:58 [logger.py:1] "


def test_vllm_older_form_in_one_line(tmp_path: Path) -> None:
    text = "say 'SamplingParams(n=9)'\nand prompt_token_ids: [7]"
    requests, skipped = read(
        tmp_path,
        VLLM + "Initializing an engine with config: model='org/model', block_size=32, seed=0",
        VLLM + f"Received request cmpl-1: prompt: {text!r}, params: SamplingParams(n=1, prompt_logprobs=2, "
        "stop=[')'], guided=<object>), prompt_token_ids: [1, 2, 3], lora_request: "
        "LoRARequest(lora_name='adapter', lora_int_id=1, lora_path='/x').",
        "INFO:     127.0.0.1:5 - POST /v1/completions",
        VLLM.replace("12-31 23:59:58", "01-01 00:00:03")
        + "Received request cmpl-2: prompt: None, params: SamplingParams(n=1), prompt_token_ids: [4].",
        VLLM + "Received request cmpl-3: params: SamplingParams(n=1), lora_request: None.",
        VLLM + "Received request cmpl-4: prompt: 'cut off in the mid",
        expect="vllm-debug-log",
    )
    assert [request.prompt_text for request in requests] == [text, None]
    assert [request.prompt_token_ids for request in requests] == [[1, 2, 3], [4]]
    assert [request.model for request in requests] == ["adapter", "org/model"]
    assert [request.block_size for request in requests] == [32, 32]
    assert requests[0].params == {"n": 1, "prompt_logprobs": 2, "lora_request": "adapter"}
    assert [request.time_s for request in requests] == [0.0, 5.0]
    assert [skip.line for skip in skipped] == [5, 6]
    assert "VLLM_LOGGING_LEVEL=DEBUG" in skipped[0].reason


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


def test_real_mooncake_count(shared: Path) -> None:
    trace = open_trace(shared / "data" / "mooncake" / "conversation_trace.jsonl.gz")
    assert trace.format == "mooncake"
    assert sum(1 for _ in trace.requests()) == 12031
