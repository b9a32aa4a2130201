"""The recorder in front of the real server, driven by the client that applications use."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest

from keepwarm.canary.servers.local import LocalServer
from keepwarm.trace.open import open_trace
from tests.replay.recorder.running import Recorder

LRU = {"COMPUTECACHE_MODE": "lru"}
BLOCK_SIZE_TOKENS = 16
KEY = "sk-recorded-never-5b1c2d3e"
RULES = " ".join(f"Rule {number}: answer the night desk politely." for number in range(60))
TOOL = {
    "type": "function",
    "function": {
        "name": "page",
        "parameters": {"type": "object", "properties": {"topic": {"type": "string"}}},
    },
}


@pytest.fixture
def recorder(cpu_server: Callable[..., LocalServer], tmp_path: Path) -> Iterator[Recorder]:
    with Recorder(f"{cpu_server(LRU).base_url}/v1", tmp_path / "trace.jsonl") as recorder:
        yield recorder


@pytest.fixture
def client(recorder: Recorder) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{recorder.url}/v1", api_key=KEY, max_retries=0) as client:
        yield client


def chat(question: str, **changes: Any) -> dict[str, Any]:
    messages = [{"role": "system", "content": RULES}, {"role": "user", "content": question}]
    return {"messages": messages, "max_tokens": 6, "temperature": 0, **changes}


def spoken(line: dict[str, Any]) -> dict[str, Any]:
    """The recorded message, less what is empty: a stream leaves it out."""
    message = line["response"]["choices"][0]["message"]
    return {key: value for key, value in message.items() if value}


def test_a_stream_is_recorded_as_the_answer_without_one(
    client: openai.OpenAI, recorder: Recorder, served_model: str
) -> None:
    body = chat("Who is on call?", model=served_model, tools=[TOOL], tool_choice="none")
    whole = client.chat.completions.create(**body)
    chunks = list(client.chat.completions.create(**body, stream=True, stream_options={"include_usage": True}))
    first, second = recorder.next_lines(2)
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert first["body"] == body
    assert first["response"]["choices"][0]["message"]["content"] == whole.choices[0].message.content == text
    assert spoken(second) == spoken(first)
    assert second["response"]["choices"][0]["finish_reason"] == "length"
    assert second["usage"]["completion_tokens"] == 6
    prompt_tokens = second["usage"]["prompt_tokens"]
    assert first["usage"]["prompt_tokens"] == prompt_tokens
    assert second["usage"]["prompt_tokens_details"]["cached_tokens"] == (
        (prompt_tokens - 1) // BLOCK_SIZE_TOKENS * BLOCK_SIZE_TOKENS
    )
    assert 0 < second["time_to_first_token"] < second["end"] - second["timestamp"]


def test_completions_and_responses(client: openai.OpenAI, recorder: Recorder, served_model: str) -> None:
    completion = list(
        client.completions.create(
            model=served_model, prompt="Once upon", max_tokens=5, temperature=0, stream=True
        )
    )
    response = client.responses.create(
        model=served_model, input="Hello?", max_output_tokens=16, temperature=0
    )
    events = list(
        client.responses.create(
            model=served_model, input="Hello?", max_output_tokens=16, temperature=0, stream=True
        )
    )
    first, second, third = recorder.next_lines(3)
    assert first["response"]["choices"][0]["text"] == "".join(chunk.choices[0].text for chunk in completion)
    assert second["response"]["output"][0]["content"][0]["text"] == response.output_text
    assert third["response"]["output"][0]["content"][0]["text"] == response.output_text
    assert events[-1].type in ("response.completed", "response.incomplete")
    assert all("error" not in line for line in (first, second, third))


def test_refusals_and_a_client_that_leaves(
    client: openai.OpenAI, recorder: Recorder, served_model: str
) -> None:
    with pytest.raises(openai.NotFoundError):
        client.chat.completions.create(**chat("Hello?", model="no-such-model"))
    assert recorder.next_line()["status"] == 404
    with pytest.raises(openai.BadRequestError):
        client.chat.completions.create(**chat("Hello? " * 5000, model=served_model))
    assert recorder.next_line()["error"] == {"kind": "status", "message": "HTTP 400"}
    body = chat("Tell me all.", model=served_model, max_tokens=900, ignore_eos=True, stream=True)
    with (
        httpx2.Client(trust_env=False, timeout=60) as http,
        http.stream("POST", f"{recorder.url}/v1/chat/completions", json=body) as answer,
    ):
        next(answer.iter_raw())
    line = recorder.next_line()
    assert line["error"]["kind"] == "client-disconnected"
    assert "choices" in line["response"]


def test_the_recording_is_diagnosed_with_what_the_server_measured(
    client: openai.OpenAI, recorder: Recorder, served_model: str, tiny_model_dir: Path
) -> None:
    for number in range(5):
        stamped = f"Request {number} of the day. {RULES}"
        messages = [{"role": "system", "content": stamped}, {"role": "user", "content": "Who is on call?"}]
        client.chat.completions.create(
            model=served_model, messages=messages, max_tokens=2, extra_headers={"X-Session-ID": f"s-{number}"}
        )
    recorder.stop()
    requests = list(open_trace(recorder.out).requests())
    assert [request.session for request in requests] == [f"s-{number}" for number in range(5)]
    assert all(request.usage.cached_tokens is not None for request in requests)
    command = [sys.executable, "-m", "keepwarm", "diagnose", str(recorder.out), "--json"]
    done = subprocess.run([*command, "--tokenizer", str(tiny_model_dir)], capture_output=True, check=True)
    document = json.loads(done.stdout)
    assert document["tokens"]["prompt"] == sum(request.usage.prompt_tokens or 0 for request in requests)
    assert [finding["cause"] for finding in document["findings"]] == ["counter"]
    everything = recorder.out.read_text() + recorder.said
    assert KEY not in everything
