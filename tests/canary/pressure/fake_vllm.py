"""A small vLLM for tests: the reference pool behind the few answers that a pressure run reads."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx2

from keepwarm.cache.pool import BlockPool
from keepwarm.policies.base import BlockHash, VictimOrder
from keepwarm.policies.computecache import ComputeCache
from keepwarm.policies.lru import Lru

POLICIES: dict[str, Callable[[int], VictimOrder]] = {"stock": Lru, "lru": Lru, "active": ComputeCache}
Answer = Callable[[dict[str, Any]], httpx2.Response]


@dataclass
class FakeVllm:
    """``answers`` replaces what a path says, ``broken`` a completion's answer by its number from 0.

    ``other_hits`` are tokens that somebody else hits during each completion. Prompts longer than the model or
    the pool get HTTP 400, as vLLM gives them.
    """

    mode: str = "stock"
    capacity_blocks: int = 127
    block_size: int = 16
    max_model_len: int = 1024
    vocabulary: int = 50_000
    tells_details: bool = True
    has_reset: bool = True
    caches: bool = True
    other_hits: int = 0
    key: str = ""
    answers: dict[str, Answer | Exception] = field(default_factory=dict)
    broken: dict[int, Answer] = field(default_factory=dict)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    hit_tokens: int = 0
    resets: int = 0

    def __post_init__(self) -> None:
        self.pool = BlockPool(self.capacity_blocks, POLICIES[self.mode](self.capacity_blocks))

    @property
    def transport(self) -> httpx2.MockTransport:
        return httpx2.MockTransport(self.handle)

    def handle(self, request: httpx2.Request) -> httpx2.Response:
        path = request.url.path
        self.paths.append(path)
        body = json.loads(request.content) if request.content else {}
        if (
            path.startswith("/v1")
            and self.key
            and request.headers.get("authorization") != f"Bearer {self.key}"
        ):
            return httpx2.Response(401, json={"error": "Unauthorized"})
        replaced = self.answers.get(path)
        if isinstance(replaced, Exception):
            raise replaced
        if replaced is not None:
            return replaced(body)
        own: dict[str, Answer] = {
            "/v1/models": self._models,
            "/metrics": self._metrics,
            "/tokenize": self._tokenize,
            "/reset_prefix_cache": self._reset,
            "/v1/completions": self._completions,
        }
        return own[path](body) if path in own else httpx2.Response(404, json={"detail": "Not Found"})

    def _models(self, body: dict[str, Any]) -> httpx2.Response:
        adapter = {"id": "an-adapter", "parent": "tiny", "max_model_len": None}
        served = {"id": "tiny", "parent": None, "max_model_len": self.max_model_len}
        return httpx2.Response(200, json={"object": "list", "data": [adapter, served]})

    def _metrics(self, body: dict[str, Any]) -> httpx2.Response:
        return httpx2.Response(200, text="".join(f"{line}\n" for line in self.metric_lines()))

    def metric_lines(self) -> Iterator[str]:
        yield "# TYPE vllm:cache_config_info gauge"
        yield (
            f'vllm:cache_config_info{{block_size="{self.block_size}",engine="0",'
            f'num_gpu_blocks="{self.capacity_blocks + 1}"}} 1.0'
        )
        yield "# TYPE vllm:prefix_cache_hits counter"
        yield f'vllm:prefix_cache_hits_total{{engine="0",model_name="tiny"}} {float(self.hit_tokens)}'
        if self.mode != "stock":
            yield "# TYPE computecache_effective_mode gauge"
            for mode in ("active", "lru"):
                yield f'computecache_effective_mode{{mode="{mode}"}} {float(mode == self.mode)}'
            yield "# TYPE computecache_decisions counter"
            yield f"computecache_decisions_total {float(len(self.bodies))}"

    def _tokenize(self, body: dict[str, Any]) -> httpx2.Response:
        assert body["add_special_tokens"] is False
        ids = [_number(word) % self.vocabulary for word in body["prompt"].split()]
        return httpx2.Response(200, json={"tokens": ids, "count": len(ids)})

    def _reset(self, body: dict[str, Any]) -> httpx2.Response:
        if not self.has_reset:
            return httpx2.Response(404, json={"detail": "Not Found"})
        self.resets += 1
        return httpx2.Response(200, json={"success": self.pool.reset()})

    def _completions(self, body: dict[str, Any]) -> httpx2.Response:
        number = len(self.bodies)
        self.bodies.append(body)
        if number in self.broken:
            return self.broken[number](body)
        prompt, output_tokens = body["prompt"], body["max_tokens"]
        longest = min(self.max_model_len, self.capacity_blocks * self.block_size)
        if len(prompt) + output_tokens > longest or max(prompt) >= self.vocabulary:
            return httpx2.Response(400, json={"error": "too long, or out of vocabulary"})
        cached = self._serve(prompt, output_tokens)
        self.hit_tokens += cached + self.other_hits
        return httpx2.Response(200, text=self.events(prompt, output_tokens, cached))

    def events(self, prompt: list[int], output_tokens: int, cached: int) -> str:
        text = [f" {(sum(prompt) + i) % 1000}" for i in range(output_tokens)]
        chunks: list[dict[str, Any]] = [{"choices": [{"index": 0, "text": piece}]} for piece in text]
        usage: dict[str, Any] = {"prompt_tokens": len(prompt), "completion_tokens": output_tokens}
        if self.tells_details:
            usage["prompt_tokens_details"] = {"cached_tokens": cached}
        chunks.append({"choices": [], "usage": usage})
        return "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"

    def _serve(self, prompt: list[int], output_tokens: int) -> int:
        """Through the pool as vLLM does it; returns the tokens hit."""
        hashes = self._hashes(prompt)
        hits = self.pool.lookup(hashes[: (len(prompt) - 1) // self.block_size]) if self.caches else []
        total_blocks = -(-(len(prompt) + output_tokens - 1) // self.block_size)
        blocks = self.pool.admit(hashes, hits, total_blocks - len(hits)).blocks
        self.pool.cache_full_blocks(blocks, hashes, start=len(hits))
        self.pool.free(blocks)
        return len(hits) * self.block_size

    def _hashes(self, prompt: list[int]) -> list[BlockHash]:
        ends = range(self.block_size, len(prompt) + 1, self.block_size)
        return [BlockHash(_number(repr(prompt[:end]))) for end in ends]


def _number(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=7).digest())


@contextmanager
def served(fake: FakeVllm) -> Iterator[str]:
    """``fake`` on a free port of the loopback interface; gives its base URL."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = 2**16  # head and body in one packet, else each answer waits for an acknowledgement

        def _answer(self) -> None:
            content = self.rfile.read(int(self.headers.get("content-length", 0)))
            request = httpx2.Request(
                self.command, f"http://fake{self.path}", headers=dict(self.headers), content=content
            )
            response = fake.handle(request)
            body = response.read()
            self.send_response(response.status_code)
            # More than is sent: the server dies in mid-stream.
            self.send_header("content-length", response.headers.get("x-promised", str(len(body))))
            self.end_headers()
            self.wfile.write(body)
            self.close_connection = "x-promised" in response.headers

        do_GET = do_POST = _answer  # noqa: N815 - the names http.server calls

        def log_message(self, *args: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
