"""Median milliseconds that the recording proxy adds to a request, the worse of whole and streamed answers."""

from __future__ import annotations

import contextlib
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import httpx2

from bench.harness import Result

TARGET = "≤ 2"
ROUNDS = 200
WARM_UP = 40
PROMPT_CHARACTERS = 16_000
CHUNKS = 16
CHUNK_INTERVAL_S = 0.002  # as a quick model generates; all at once would measure how busy the machine is

# An upstream in a process of its own that answers as fast as Python can.
_STUB = """
import asyncio, json, sys
usage = {"prompt_tokens": 4000, "completion_tokens": 64, "prompt_tokens_details": {"cached_tokens": 3984}}
message = {"role": "assistant", "content": "word " * 64}
whole = json.dumps({"id": "x", "object": "chat.completion", "model": "m", "usage": usage,
                    "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}).encode()
def event(delta):
    choice = {"index": 0, "delta": delta, "finish_reason": None}
    data = b"data: " + json.dumps({"id": "x", "object": "chat.completion.chunk", "model": "m",
                                   "choices": [choice]}).encode() + b"\\n\\n"
    return b"%x\\r\\n%b\\r\\n" % (len(data), data)
token, done = event({"content": "word "}), b"e\\r\\ndata: [DONE]\\n\\n\\r\\n0\\r\\n\\r\\n"
async def serve(reader, writer):
    try:
        await answer(reader, writer)
    except asyncio.IncompleteReadError:
        writer.close()
async def answer(reader, writer):
    while True:
        head = await reader.readuntil(b"\\r\\n\\r\\n")
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\\r\\n")[0])
        body = await reader.readexactly(length)
        if b'"stream": true' in body or b'"stream":true' in body:
            writer.write(b"HTTP/1.1 200 OK\\r\\ncontent-type: text/event-stream\\r\\n"
                         b"transfer-encoding: chunked\\r\\n\\r\\n")
            for _ in range(CHUNKS):
                writer.write(token)
                await asyncio.sleep(INTERVAL)
            writer.write(done)
        else:
            writer.write(b"HTTP/1.1 200 OK\\r\\ncontent-type: application/json\\r\\n"
                         b"content-length: %d\\r\\n\\r\\n" % len(whole) + whole)
        await writer.drain()
async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(main())
"""


class Timed(NamedTuple):
    """Milliseconds of one request, until its first byte and until its end."""

    first_ms: float
    total_ms: float


def run() -> Result:
    """Requests one after another on kept connections, directly and through the proxy in turn."""
    with _upstream() as direct, _recorder(direct) as proxied, httpx2.Client(trust_env=False) as client:
        urls = {"direct": direct, "proxied": proxied}
        whole = _interleaved(client, urls, stream=False)
        streamed = _interleaved(client, urls, stream=True)
    figures = {
        "whole": _medians(whole, lambda timed: timed.total_ms),
        "first_chunk": _medians(streamed, lambda timed: timed.first_ms),
        "whole_stream": _medians(streamed, lambda timed: timed.total_ms),
    }
    added_ms = max(figures[name]["proxied"] - figures[name]["direct"] for name in ("whole", "first_chunk"))
    detail: dict[str, object] = {"rounds": ROUNDS, "prompt_characters": PROMPT_CHARACTERS, "chunks": CHUNKS}
    for name, ms in figures.items():
        detail |= {f"{name}_{side}_ms": round(value, 2) for side, value in ms.items()}
        detail[f"{name}_ratio"] = round(ms["proxied"] / ms["direct"], 2)
    return Result("recorder-latency", round(added_ms, 2), "ms", detail)


def _medians(times: dict[str, list[Timed]], of: Callable[[Timed], float]) -> dict[str, float]:
    return {side: statistics.median(map(of, timed)) for side, timed in times.items()}


def _interleaved(client: httpx2.Client, urls: dict[str, str], *, stream: bool) -> dict[str, list[Timed]]:
    """``ROUNDS`` requests to each URL, in turn, after a warm-up."""
    words = "The quick brown fox jumps over the lazy dog. "
    text = (words * (PROMPT_CHARACTERS // len(words) + 1))[:PROMPT_CHARACTERS]
    messages = [{"role": "system", "content": text}, {"role": "user", "content": "Well?"}]
    body = json.dumps({"model": "m", "messages": messages, "stream": stream}).encode()
    times: dict[str, list[Timed]] = {name: [] for name in urls}
    for number in range(WARM_UP + ROUNDS):
        for name, url in urls.items():
            timed = _timed(client, url, body)
            if number >= WARM_UP:
                times[name].append(timed)
    return times


def _timed(client: httpx2.Client, url: str, body: bytes) -> Timed:
    headers = {"content-type": "application/json", "x-session-id": "bench"}
    started_s = time.perf_counter()
    first_s = 0.0
    with client.stream("POST", f"{url}/v1/chat/completions", content=body, headers=headers) as answer:
        answer.raise_for_status()
        for _ in answer.iter_raw():
            first_s = first_s or time.perf_counter()
    return Timed(1000 * (first_s - started_s), 1000 * (time.perf_counter() - started_s))


@contextlib.contextmanager
def _upstream() -> Iterator[str]:
    program = _STUB.replace("CHUNKS", str(CHUNKS)).replace("INTERVAL", str(CHUNK_INTERVAL_S))
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.kill()


@contextlib.contextmanager
def _recorder(upstream: str) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        out = str(Path(folder) / "trace.jsonl")
        command = [sys.executable, "-m", "keepwarm", "record", "--upstream", upstream, "--out", out]
        with subprocess.Popen([*command, "--port", "0"], stderr=subprocess.PIPE, text=True) as process:
            try:
                assert process.stderr is not None
                said = process.stderr.readline()
                address = re.search(r"base URL (http://\S+)/v1$", said)
                if address is None:
                    raise OSError(f"the recorder did not start: {said}")
                yield address[1]
            finally:
                process.kill()
