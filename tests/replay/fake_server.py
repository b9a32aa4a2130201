"""The fake vLLM of the pressure tests with what a replay asks for besides: chats, versions, more counters."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx2

from tests.canary.pressure.fake_vllm import Answer, FakeVllm, _number

EVENT_BREAK = "\n\n"


@dataclass
class ReplayVllm(FakeVllm):
    """A word is a token. ``lies_about_reset``: it says yes and keeps everything."""

    block_size: int = 4
    version: str = "0.32.0"
    device: str = "cpu"
    root: str = "/models/tiny"
    lies_about_reset: bool = False
    refuses_reset: bool = False
    miscounts: int = 0
    query_tokens: int = 0
    output_tokens_total: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def handle(self, request: httpx2.Request) -> httpx2.Response:
        with self.lock:
            path = request.url.path
            more: dict[str, Answer] = {
                "/version": lambda body: httpx2.Response(200, json={"version": self.version}),
                "/server_info": self._server_info,
                "/v1/chat/completions": self._chat,
            }
            if path not in more or path in self.answers:
                return super().handle(request)
            self.paths.append(path)
            return more[path](json.loads(request.content) if request.content else {})

    def _server_info(self, body: dict[str, Any]) -> httpx2.Response:
        return httpx2.Response(200, json={"vllm_config": {"device_config": {"device": self.device}}})

    def _models(self, body: dict[str, Any]) -> httpx2.Response:
        served = {"id": "tiny", "parent": None, "max_model_len": self.max_model_len, "root": self.root}
        return httpx2.Response(200, json={"object": "list", "data": [served]})

    def metric_lines(self) -> Iterator[str]:
        yield from super().metric_lines()
        for name, value in (
            ("prefix_cache_queries", self.query_tokens),
            ("num_preemptions", 0),
            ("prompt_tokens", self.query_tokens),
            ("generation_tokens", self.output_tokens_total),
        ):
            yield f"# TYPE vllm:{name} counter"
            yield f'vllm:{name}_total{{engine="0",model_name="tiny"}} {float(value)}'

    def ids(self, body: dict[str, Any]) -> list[int]:
        if isinstance(body.get("prompt"), list):
            return list(body["prompt"])
        if "messages" in body:
            text = " ".join(
                [json.dumps(tool) for tool in body.get("tools", ())]
                + [f"<{message['role']}> {message['content']}" for message in body["messages"]]
                + ["<assistant>"]
            )
        else:
            text = body["prompt"]
        return [_number(word) % self.vocabulary for word in text.split()]

    def _tokenize(self, body: dict[str, Any]) -> httpx2.Response:
        ids = self.ids(body)
        return httpx2.Response(200, json={"tokens": ids, "count": len(ids)})

    def _reset(self, body: dict[str, Any]) -> httpx2.Response:
        if self.lies_about_reset or self.refuses_reset:
            self.resets += 1
            return httpx2.Response(200, json={"success": self.lies_about_reset})
        return super()._reset(body)

    def _chat(self, body: dict[str, Any]) -> httpx2.Response:
        answer = self._completions(body)
        if answer.status_code != 200 or "x-promised" in answer.headers:
            return answer
        lines = [line for line in answer.text.split(EVENT_BREAK) if line]
        role = {"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]}
        chunks = [f"data: {json.dumps(role)}", *map(_as_delta, lines)]
        return httpx2.Response(200, text="".join(chunk + EVENT_BREAK for chunk in chunks))

    def _completions(self, body: dict[str, Any]) -> httpx2.Response:
        prompt = self.ids(body)
        number = len(self.bodies)
        answer = super()._completions({**body, "prompt": prompt})
        self.bodies[number] = body
        if answer.status_code == 200 and number not in self.broken:
            self.query_tokens += len(prompt) + self.miscounts
            self.output_tokens_total += body["max_tokens"]
        return answer


def _as_delta(line: str) -> str:
    payload = line.removeprefix("data: ")
    if payload == "[DONE]":
        return line
    chunk = json.loads(payload)
    for choice in chunk["choices"]:
        if "text" in choice:
            choice["delta"] = {"content": choice.pop("text")}
    return f"data: {json.dumps(chunk)}"
