"""A recording is a trace: the readers know it, and the diagnosis uses what the server measured."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import openai
import pytest

from keepwarm.trace.open import open_trace
from keepwarm.trace.records import Usage
from tests.replay.recorder.conftest import hello
from tests.replay.recorder.running import Recorder
from tests.replay.recorder.stub import Call, Stub, chat_answer, chat_chunks
from tests.replay.recorder.test_openai_client import RESPONSE, respond

RULES = " ".join(f"Rule {number}: answer politely and to the point." for number in range(80))


def usage(prompt: int, cached: int) -> dict[str, Any]:
    details = {"cached_tokens": cached}
    return {"prompt_tokens": prompt, "completion_tokens": 3, "prompt_tokens_details": details}


def test_the_readers_read_it(client: openai.OpenAI, upstream: Stub, recorder: Recorder) -> None:
    start = len(recorder.lines())
    client.chat.completions.create(**hello(), extra_headers={"X-Session-ID": "s"})
    upstream.script = lambda call: call.stream(*chat_chunks("Hello."))
    list(client.chat.completions.create(**hello(), stream=True))
    lines = recorder.next_lines(2)
    chats = list(open_trace(recorder.out).requests())[start:]
    assert [request.session for request in chats] == ["s", None]
    for request, line in zip(chats, lines, strict=True):
        assert request.id == line["id"]
        assert (request.time_s, request.end_s) == (line["timestamp"], line["end"])
        assert request.usage == Usage(prompt_tokens=40, output_tokens=3, cached_tokens=32)
        assert request.messages == hello()["messages"]
        assert request.answer == {"role": "assistant", "content": "Hello."}
        assert request.ttft_s == line.get("time_to_first_token")


def test_the_reader_of_responses_follows_conversations(
    client: openai.OpenAI, upstream: Stub, recorder: Recorder
) -> None:
    upstream.script = respond
    list(client.responses.create(model="m", input="Hello?", stream=True))
    upstream.script = lambda call: call.json({**RESPONSE, "id": "resp-2"})
    client.responses.create(model="m", input="And then?", previous_response_id="resp-1")
    recorder.next_lines(2)
    second = list(open_trace(recorder.out, "openai-responses").requests())[-1]
    assert [message["content"] for message in second.messages] == ["Hello?", "Hello.", "And then?"]
    assert second.usage.cached_tokens == 32


@pytest.mark.parametrize(("cached", "causes"), [(980, set()), (0, {"routing"})])
def test_the_diagnosis_uses_measured_hits(
    client: openai.OpenAI, upstream: Stub, recorder: Recorder, tmp_path: Any, cached: int, causes: set[str]
) -> None:
    """The same prompts, which the cache model says hit: only what the server counted tells the two apart."""
    start = len(recorder.lines())

    def answer(call: Call) -> None:
        first = len(upstream.asked) == 1
        call.json(chat_answer(usage=usage(1000, 0 if first else cached)))

    upstream.script = answer
    for number in range(6):
        messages = [{"role": "system", "content": RULES}, {"role": "user", "content": f"Question {number}?"}]
        client.chat.completions.create(model="m", messages=messages)
    recorder.next_lines(6)
    trace = tmp_path / "trace.jsonl"
    trace.write_bytes(b"".join(recorder.raw_lines()[start:]))
    command = [sys.executable, "-m", "keepwarm", "diagnose", str(trace), "--json"]
    document = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert (document["input"]["requests"], document["input"]["skipped"]) == (6, [])
    assert {finding["cause"] for finding in document["findings"]} == causes
