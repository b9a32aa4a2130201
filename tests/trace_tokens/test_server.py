"""A running vLLM server as the tokenizer, over a mock transport and over a socket."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx2
import pytest

from keepwarm._errors import TokenizerError
from keepwarm.trace.encode import open_encoder
from keepwarm.trace.tokens import builtin_tokenizer, load_tokenizer
from keepwarm.trace.tokens.server import ServerTokenizer
from tests.trace_tokens.contract import chat

LOCAL = builtin_tokenizer()
TEXT = "Où est le chat? 中文 \U0001f600 <|im_end|>\n  x"


def tokenize(body: dict[str, Any]) -> dict[str, Any]:
    """What vLLM answers, by the built-in tokenizer."""
    assert body["add_special_tokens"] is False
    ids = LOCAL.encode(body["prompt"]).ids.tolist()
    answer: dict[str, Any] = {"count": len(ids), "max_model_len": 4096, "tokens": ids}
    if body.get("return_token_strs"):
        answer["token_strs"] = [LOCAL.model.id_to_token(i) for i in ids]
    return answer


def server(answer: Any) -> ServerTokenizer:
    def handle(request: httpx2.Request) -> httpx2.Response:
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, httpx2.Response):
            return answer
        body = json.loads(request.content)
        return httpx2.Response(200, json=answer(body) if callable(answer) else answer)

    return ServerTokenizer("http://vllm:8000", transport=httpx2.MockTransport(handle))


def test_ids_and_starts_are_the_servers() -> None:
    found, expected = server(tokenize).encode(TEXT), LOCAL.encode(TEXT)
    assert found.ids.tolist() == expected.ids.tolist()
    assert found.char_starts.tolist() == expected.char_starts.tolist()


def test_starts_are_spread_where_the_server_does_not_print_tokens() -> None:
    found = server(lambda body: {"tokens": tokenize(body)["tokens"]}).encode("abcdefgh")
    assert found.char_starts[0] == 0
    assert sorted(found.char_starts) == found.char_starts.tolist()


@pytest.mark.parametrize(
    "pieces", [["<s>", "\u2581He", "llo"], ["", "", ""], ["x" * 99, "y", "z"], ["<0xE4>", "<0xB8>", "<0xAD>"]]
)
def test_starts_of_pieces_that_do_not_spell_the_text_stay_in_it(pieces: list[str]) -> None:
    found = server({"tokens": [1, 2, 3], "token_strs": pieces}).encode("Hello")
    assert found.char_starts.tolist() == sorted(found.char_starts.tolist())
    assert 0 <= found.char_starts[0] <= found.char_starts[-1] < 5


@pytest.mark.parametrize(
    "answer",
    [
        httpx2.ConnectError("refused"),
        httpx2.ReadTimeout("slow"),
        httpx2.Response(404, text="not found"),
        httpx2.Response(200, text="<html>"),
        httpx2.Response(200, json=[1]),
        {},
        {"tokens": "no"},
        {"tokens": [1, "2"]},
        {"tokens": [1, True]},
        {"tokens": [2**40]},
    ],
    ids=str,
)
def test_whatever_a_server_does_wrong_is_one_line(answer: Any) -> None:
    with pytest.raises(TokenizerError, match="http://vllm:8000") as said:
        server(answer).encode("x")
    assert "\n" not in str(said.value)


@pytest.fixture
def address() -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            data = json.dumps(tokenize(body)).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    stub = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=stub.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{stub.server_port}"
    stub.shutdown()
    stub.server_close()
    thread.join()


def test_an_encoder_over_a_socket(address: str) -> None:
    encoder = open_encoder(address)
    request = chat({"role": "user", "content": "Hello there"})
    assert encoder.ids(request).tolist() == open_encoder().ids(request).tolist()
    assert encoder.prompt(request).ids.tolist() == encoder.ids(request).tolist()
    assert encoder.info.tokenizer == address
    assert not encoder.info.exact  # the template is our own
    tokenizer = load_tokenizer(address)
    assert isinstance(tokenizer, ServerTokenizer)
    tokenizer.close()
