"""An upstream that does exactly what a test's script says, byte by byte, and remembers what it was asked."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

PATIENCE_S = 20.0
"""Until a test that waits for an event gives up; nothing is measured with it."""


class Asked(NamedTuple):
    """One request as it arrived; ``target`` with its query."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)


class Call(BaseHTTPRequestHandler):
    """One request being answered: a script writes to it."""

    protocol_version = "HTTP/1.1"
    server: Stub

    def do_POST(self) -> None:
        self.asked = Asked(self.command, self.path, self.headers.items(), self._body())
        self.server.asked.append(self.asked)
        self.server.script(self)
        self.wfile.flush()

    do_GET = do_DELETE = do_POST  # noqa: N815 - named by the standard library

    def _body(self) -> bytes:
        if self.headers.get("transfer-encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("content-length", 0)))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def answer(
        self, body: bytes, status: int = 200, content_type: str = "application/json", **headers: str
    ) -> None:
        """A whole response; ``retry_after="7"`` is the header Retry-After."""
        named = {"Content-Type": content_type, "Content-Length": str(len(body))}
        self.start(status, named | {key.replace("_", "-"): value for key, value in headers.items()})
        self.wfile.write(body)

    def json(self, value: Any, status: int = 200, **headers: str) -> None:
        self.answer(json.dumps(value).encode(), status, **headers)

    def start(self, status: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key, value)
        self.end_headers()

    def start_stream(self) -> None:
        self.start(200, {"Content-Type": "text/event-stream; charset=utf-8", "Transfer-Encoding": "chunked"})

    def piece(self, data: bytes) -> None:
        """One chunk of a chunked response, sent at once."""
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.wfile.flush()

    def event(self, value: Any, name: str | None = None) -> None:
        self.piece(event(value, name))

    def end(self) -> None:
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def stream(self, *values: Any) -> None:
        """A whole stream of chunks, one event each, with ``[DONE]``."""
        self.start_stream()
        for value in values:
            self.event(value)
        self.piece(b"data: [DONE]\n\n")
        self.end()

    def hang_up(self) -> None:
        """Close without a word."""
        self.wfile.flush()
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def wait_until_hung_up(self) -> bool:
        """Whether the other side closed the connection."""
        self.connection.settimeout(PATIENCE_S)
        try:
            return self.connection.recv(1) == b""
        except ConnectionError:
            return True
        except TimeoutError:
            return False
        finally:
            self.close_connection = True

    def log_message(self, *args: Any) -> None:
        pass


class Stub(ThreadingHTTPServer):
    """Listens on a free port of this machine; ``script`` answers."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Call)
        self.asked: list[Asked] = []
        self.script: Callable[[Call], None] = lambda call: call.json(chat_answer())

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def __enter__(self) -> Stub:
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.shutdown()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hung up is part of the tests."""


def event(value: Any, name: str | None = None) -> bytes:
    prefix = f"event: {name}\n" if name else ""
    return f"{prefix}data: {json.dumps(value)}\n\n".encode()


USAGE = {
    "prompt_tokens": 40,
    "completion_tokens": 3,
    "total_tokens": 43,
    "prompt_tokens_details": {"cached_tokens": 32},
}


def chat_answer(content: str = "Hello.", **changes: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": content}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1_700_000_000, "model": "m"}
    return {**head, "choices": [choice], "usage": USAGE, **changes}


def chat_chunk(delta: dict[str, Any] | None, finish: str | None = None, **changes: Any) -> dict[str, Any]:
    """A chunk with one choice; without ``delta`` with none, as the one that carries usage."""
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": "m"}
    return {**head, "choices": choices, **changes}


def chat_chunks(*texts: str) -> list[dict[str, Any]]:
    """A stream that says ``texts`` one by one, and its usage."""
    return [
        chat_chunk({"role": "assistant", "content": ""}),
        *(chat_chunk({"content": text}) for text in texts),
        chat_chunk({}, "stop"),
        chat_chunk(None, usage=USAGE),
    ]
