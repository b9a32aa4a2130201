"""The call that a request brings the result of, on vLLM's own way from the API server to the scheduler."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.entrypoints.openai.completion.protocol import CompletionRequest
from vllm.entrypoints.openai.responses.protocol import ResponsesRequest
from vllm.sampling_params import SamplingParams
from vllm.v1.engine import EngineCoreRequest
from vllm.v1.request import Request
from vllm.v1.serial_utils import MsgpackDecoder, MsgpackEncoder

from keepwarm.policies.sessions import SessionId
from keepwarm.reuse.calls import ToolCall
from keepwarm.reuse.estimators.unknown import Unknown
from keepwarm.scheduling.sessions import SessionTable
from keepwarm.vllm.hints import metadata

CALLS = [
    {"id": "1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "make test"}'}},
    {"id": "2", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}},
]
MESSAGES = [
    {"role": "user", "content": "Fix it."},
    {"role": "assistant", "content": "Looking.", "tool_calls": CALLS},
    {"role": "tool", "tool_call_id": "1", "content": "2 failed"},
    {"role": "tool", "tool_call_id": "2", "content": "src"},
]
BOTH = ToolCall("bash", '{"command": "make test"}\n{"command": "ls"}')
CLASSES = (ChatCompletionRequest, ResponsesRequest)
STOCK = {of: of.to_sampling_params for of in CLASSES}


@pytest.fixture(autouse=True)
def hooked() -> Iterator[None]:
    metadata.hook_requests()
    metadata.hook_requests()  # vLLM may load plugins more than once
    yield
    for of, stock in STOCK.items():
        of.to_sampling_params = stock


def chat(**changes: Any) -> ChatCompletionRequest:
    return ChatCompletionRequest.model_validate({"model": "m", "messages": MESSAGES, **changes})


def in_engine(params: SamplingParams) -> Request:
    """The scheduler's request, after the way between the processes."""
    sent = EngineCoreRequest(
        request_id="1",
        prompt_token_ids=[1, 2, 3],
        mm_features=None,
        sampling_params=params,
        pooling_params=None,
        arrival_time=0.0,
        lora_request=None,
        cache_salt=None,
        data_parallel_rank=None,
        session_id="s",
    )
    received = MsgpackDecoder(EngineCoreRequest).decode(MsgpackEncoder().encode(sent))
    return Request.from_engine_core_request(received, None)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("xargs", [None, {"mine": 1}])
def test_it_arrives_in_the_engine_and_goes_no_further(stream: bool, xargs: dict[str, Any] | None) -> None:
    request = chat(stream=stream, vllm_xargs=xargs, tools=None)
    before = request.model_dump_json()
    stock = STOCK[ChatCompletionRequest](request, 20, {})
    received = in_engine(request.to_sampling_params(20, {}))
    assert request.model_dump_json() == before
    assert received.session_id == "s"
    assert metadata.take(received) == BOTH
    assert metadata.take(received) is None
    assert received.sampling_params == in_engine(stock).sampling_params
    assert received.sampling_params.extra_args == xargs


def test_requests_without_a_call_are_as_they_were() -> None:
    for request in (
        chat(messages=MESSAGES[:1]),
        chat(messages=[*MESSAGES[:1], {"role": "assistant", "content": "x"}]),
    ):
        assert request.to_sampling_params(20, {}) == STOCK[ChatCompletionRequest](request, 20, {})
    response = ResponsesRequest(model="m", input="Hello?")
    assert response.to_sampling_params(20, {}) == STOCK[ResponsesRequest](response, 20, {})
    completion = CompletionRequest(model="m", prompt="Hello?")
    assert metadata.take(in_engine(completion.to_sampling_params(20, {}))) is None


def test_the_responses_api() -> None:
    items = [
        {"role": "user", "content": "Fix it."},
        {"type": "function_call", "call_id": "1", "name": "shell", "arguments": "ls"},
        {"type": "function_call_output", "call_id": "1", "output": "src"},
    ]
    request = ResponsesRequest.model_validate({"model": "m", "input": items})
    assert metadata.take(in_engine(request.to_sampling_params(20))) == ToolCall("shell", "ls")


@given(st.text(), st.text())
def test_any_call_survives_the_way(tool: str, arguments: str) -> None:
    calls = [{"id": "1", "type": "function", "function": {"name": tool, "arguments": arguments}}]
    messages = [MESSAGES[0], {**MESSAGES[1], "tool_calls": calls}, MESSAGES[2]]
    params = chat(messages=messages).to_sampling_params(20, {})
    expected = ToolCall(tool, arguments).bounded() if tool else None
    assert metadata.take(in_engine(params)) == expected


@pytest.mark.parametrize(
    "forged",
    ["", "null", "[1]", '["", "x"]', '["a"]', "[" * 10_000, '"' + "x" * 100_000, 7, "{}", '["a", 1]'],
)
def test_what_a_client_forges_is_dropped(forged: Any) -> None:
    request = chat(messages=MESSAGES[:1], vllm_xargs={metadata.KEY: forged})
    received = in_engine(request.to_sampling_params(20, {}))
    assert metadata.take(received) is None
    assert received.sampling_params.extra_args is None


def test_the_table_learns_what_ran() -> None:
    seen: list[ToolCall | None] = []

    class Watching(Unknown):
        def observe(self, call: ToolCall | None, duration_s: float) -> None:
            assert duration_s == 5.0
            seen.append(call)

    table, session = SessionTable(Watching()), SessionId("s")

    def serve(now_s: float) -> None:
        received = in_engine(chat().to_sampling_params(20, {}))
        metadata.tell(table, session, received)
        table.arrived(session, 1, now_s)
        table.ended(session, 2, now_s + 1)

    serve(0.0)  # nothing of the session was known before it: its first request brings no duration
    serve(6.0)
    table.doing(session, ToolCall("told", ""), 7.0)  # while it ran: that stands
    serve(12.0)
    assert seen == [BOTH, ToolCall("told", "")]


@pytest.mark.parametrize("changed", [metadata.CHAT, metadata.RESPONSES])
def test_another_vllm_is_left_alone(monkeypatch: pytest.MonkeyPatch, changed: str) -> None:
    for of, stock in STOCK.items():
        of.to_sampling_params = stock
    (name,) = metadata.FINGERPRINTS[changed]
    monkeypatch.setitem(metadata.FINGERPRINTS, changed, {name: "0" * 16})
    monkeypatch.setattr(metadata, "_logged", set())
    warned = []
    monkeypatch.setattr(metadata.logger, "warning", lambda *args: warned.append(args))
    metadata.hook_requests()
    metadata.hook_requests()
    hooked = [of.__name__ for of in CLASSES if of.to_sampling_params is not STOCK[of]]
    assert hooked == [of.__name__ for of in CLASSES if of.__name__ not in name]
    assert len(warned) == 1


def test_a_fault_of_ours_costs_only_the_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_args: object) -> None:
        raise RuntimeError("no such thing")

    monkeypatch.setattr(metadata, "attach", broken)
    monkeypatch.setattr(metadata, "_logged", set())
    request = chat()
    assert request.to_sampling_params(20, {}) == STOCK[ChatCompletionRequest](request, 20, {})


def test_nothing_is_sent_that_json_cannot_hold() -> None:
    params = SamplingParams()
    metadata.attach(params, ToolCall("\ud800", "\udfff" * 10_000))
    assert json.loads(params.extra_args[metadata.KEY])[0] == "?"
    assert in_engine(params).sampling_params is not None
