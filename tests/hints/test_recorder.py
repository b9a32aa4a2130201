"""The recorder tells what sessions do; nothing that it records or passes on changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import pytest

from keepwarm.reuse.calls import ToolCall
from keepwarm.vllm.hints.hint import Kind
from keepwarm.vllm.hints.listener import HintListener
from tests.hints.endpoint import PATIENCE_S, TOKEN
from tests.hints.test_client import CALLING_CHUNKS, TOOL_CALLS, TOOLS, ending, told, url_of
from tests.replay.recorder.running import Recorder
from tests.replay.recorder.stub import Stub, chat_answer

CHAT = "/v1/chat/completions"
BASH = ToolCall("bash", '{"command": "ls"}')


def ask(recorder: Recorder, path: str = CHAT, header: str | None = None, **changes: Any) -> httpx2.Response:
    body = {"model": "m", "messages": [{"role": "user", "content": "Hello?"}], **changes}
    headers = {} if header is None else {"X-Session-ID": header}
    return httpx2.post(recorder.url + path, json=body, headers=headers, timeout=PATIENCE_S, trust_env=False)


def test_each_answer_of_a_session_is_told(
    listener: HintListener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HINTS_TOKEN", TOKEN)
    options = ("--hints-to", url_of(listener), "--hints-token-env", "HINTS_TOKEN")
    with Stub() as upstream, Recorder(upstream.url, tmp_path / "trace.jsonl", *options) as recorder:
        answer = ending("tool_calls", content=None, tool_calls=TOOL_CALLS)
        upstream.script = lambda call: call.json(answer)
        assert ask(recorder, session_id="body").json() == answer
        ask(recorder, header="header")
        ask(recorder, header="header", session_id="body")  # as vLLM has it
        upstream.script = lambda call: call.stream(*CALLING_CHUNKS)
        ask(recorder, session_id="streamed", stream=True)
        upstream.script = lambda call: call.json(chat_answer())
        ask(recorder, session_id="said", tools=TOOLS)
        ask(recorder, session_id="text protocol")
        ask(recorder)  # nobody's
        upstream.script = lambda call: call.json({"error": {"message": "no"}}, status=500)
        ask(recorder, session_id="failed")
        call = {"type": "function_call", "call_id": "1", "name": "bash", "arguments": "ls"}
        upstream.script = lambda given: given.json({"status": "completed", "output": [call]})
        ask(recorder, "/v1/responses", header="responses")
        said = recorder.stop()
        assert len(recorder.lines()) == 9
        assert TOKEN.encode() not in b"".join(recorder.raw_lines())
    assert told(listener) == [
        ("body", Kind.TOOL, BASH),
        ("header", Kind.TOOL, BASH),
        ("body", Kind.TOOL, BASH),
        ("streamed", Kind.TOOL, BASH),
        ("said", Kind.HUMAN, None),
        ("responses", Kind.TOOL, ToolCall("bash", "ls")),
    ]
    assert f"6 hints taken by {url_of(listener)}, 0 lost" in said


def test_an_endpoint_that_is_not_there(
    listener: HintListener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEEPWARM_CONTROL_TOKEN", TOKEN)
    listener.close()
    with (
        Stub() as upstream,
        Recorder(upstream.url, tmp_path / "trace.jsonl", "--hints-to", url_of(listener)) as recorder,
    ):
        for _ in range(3):
            assert ask(recorder, session_id="a", tools=TOOLS).json() == chat_answer()
        said = recorder.stop()
        assert len(recorder.lines()) == 3
    assert "0 hints taken" in said
    assert "3 lost" in said
