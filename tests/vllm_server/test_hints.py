"""Hints at a real server: requests that carry their calls, and what is told to the engine's endpoint."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import httpx2
import openai
import pytest
from prometheus_client.parser import text_string_to_metric_families

from keepwarm.canary.servers.local import LocalServer
from keepwarm.hints import HintClient
from keepwarm.hints.openai import wrap

TOKEN = "token-of-the-hints-7d1c0f5e"
HINTED = {
    "KEEPWARM_SCHEDULING": "cachewise",
    "KEEPWARM_CONTROL_PORT": "0",
    "KEEPWARM_CONTROL_TOKEN": TOKEN,
}
CALL = {"id": "1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
MESSAGES: list[Any] = [
    {"role": "user", "content": "What is here?"},
    {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "1", "content": "README.md src tests"},
]


@pytest.fixture
def server(cpu_server: Callable[..., LocalServer]) -> LocalServer:
    return cpu_server(HINTED)


@pytest.fixture
def control_url(server: LocalServer) -> str:
    """Where the engine says that it listens."""
    found = re.search(r"hints are taken at (http://127\.0\.0\.1:\d+)/", server.log_tail(2_000))
    assert found is not None, server.log_tail(200)
    return found[1]


def counts(server: LocalServer, name: str, label: str) -> dict[str, float]:
    """The samples of a counter by one label."""
    text = httpx2.get(f"{server.base_url}/metrics", timeout=30, trust_env=False).text
    return {
        sample.labels[label]: sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == name
    }


def chat(server: LocalServer, model: str, messages: list[Any], **changes: Any) -> dict[str, Any]:
    body = {"model": model, "messages": messages, "max_tokens": 2, "temperature": 0, **changes}
    answer = httpx2.post(f"{server.base_url}/v1/chat/completions", json=body, timeout=60, trust_env=False)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_hints_reach_the_engine_and_are_counted(
    server: LocalServer, control_url: str, served_model: str
) -> None:
    before = counts(server, "keepwarm_hints_total", "outcome")
    chat(server, served_model, MESSAGES[:1], session_id="agent/1")
    with HintClient(control_url, TOKEN) as client:
        client.tool("agent/1", "bash", '{"command": "ls"}')
        client.finished("nobody")
    assert (client.sent, client.failed) == (2, 0)
    with HintClient(control_url, TOKEN[::-1]) as stranger:
        stranger.finished("agent/1")
    assert (stranger.sent, stranger.failed) == (0, 1)
    malformed = httpx2.post(
        f"{control_url}/keepwarm/sessions/agent%2F1",
        content=b"{",
        headers={"Authorization": f"Bearer {TOKEN}"},
        timeout=30,
        trust_env=False,
    )
    assert (malformed.status_code, malformed.json()) == (400, {"error": "the body is no JSON in UTF-8"})
    chat(server, served_model, MESSAGES, session_id="agent/1")
    after = counts(server, "keepwarm_hints_total", "outcome")
    told = {outcome: after[outcome] - before.get(outcome, 0) for outcome in after}
    assert told == {"accepted": 2, "applied": 1, "unknown": 1, "refused": 2, "dropped": 0, "late": 0}
    assert not any(counts(server, "keepwarm_faults_total", "kind").values())


def test_answers_do_not_depend_on_what_a_request_carries(server: LocalServer, served_model: str) -> None:
    plain = chat(server, served_model, MESSAGES)
    forged = chat(server, served_model, MESSAGES, vllm_xargs={"keepwarm_call": "x" * 10_000}, session_id="b")
    assert plain["choices"][0]["message"] == forged["choices"][0]["message"]
    assert plain["usage"]["prompt_tokens"] == forged["usage"]["prompt_tokens"]
    streamed = chat(server, served_model, MESSAGES, n=2, seed=1, temperature=1)
    assert len(streamed["choices"]) == 2


def test_other_apis_are_served(server: LocalServer, served_model: str) -> None:
    items = [
        {"role": "user", "content": "What is here?"},
        {"type": "function_call", "call_id": "1", "name": "bash", "arguments": '{"command": "ls"}'},
        {"type": "function_call_output", "call_id": "1", "output": "README.md"},
    ]
    for path, body in (
        ("/v1/completions", {"prompt": "Once", "max_tokens": 2, "session_id": "c"}),
        ("/v1/responses", {"input": items, "max_output_tokens": 16, "session_id": "d"}),
    ):
        answer = httpx2.post(
            server.base_url + path, json={"model": served_model, **body}, timeout=60, trust_env=False
        )
        assert answer.status_code == 200, answer.text
    assert not any(counts(server, "keepwarm_faults_total", "kind").values())


@pytest.mark.parametrize("stream", [False, True])
def test_the_client_of_applications(
    server: LocalServer, control_url: str, served_model: str, stream: bool
) -> None:
    before = counts(server, "keepwarm_hints_total", "outcome")
    stock = openai.OpenAI(base_url=f"{server.base_url}/v1", api_key="none", max_retries=0)
    with stock, wrap(stock, f"wrapped-{stream}", control_url, TOKEN) as client:
        answer = client.chat.completions.create(
            model=served_model, messages=MESSAGES, max_tokens=2, stop=None, stream=stream
        )
        if stream:
            assert list(answer)
    chat(server, served_model, MESSAGES[:1])  # an idle engine takes no steps
    after = counts(server, "keepwarm_hints_total", "outcome")
    assert after["applied"] - before["applied"] == 1  # the session is over; cut off, the answer says nothing
    assert after["refused"] == before["refused"]


def test_the_token_is_in_no_log_and_on_no_page(server: LocalServer) -> None:
    log = server._log
    assert log is not None
    assert TOKEN not in log.read_text()
    assert TOKEN not in httpx2.get(f"{server.base_url}/metrics", timeout=30, trust_env=False).text


def test_the_endpoint_goes_with_the_server(server: LocalServer, control_url: str) -> None:
    server.stop()
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(control_url, timeout=30, trust_env=False)
