from __future__ import annotations

import gzip
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from helpdesk.client import ChatClient, HttpTransport
from helpdesk.errors import UpstreamError
from helpdesk.record import main
from helpdesk.scripted import ScriptedModel


@pytest.fixture
def serve():
    """Starts servers that answer with what a function makes of path, headers and body."""
    running = []

    def start(answer):
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                payload = answer(self.path, self.headers, json.loads(body))
                self.send_response(200)
                self.send_header("Content-Length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)

            def log_message(self, *arguments):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        running.append(server)
        return f"http://127.0.0.1:{server.server_port}/v1"

    yield start
    for server in running:
        server.shutdown()
        server.server_close()


def test_a_day_recorded_over_http_is_the_day_recorded_offline(serve, traffic_file, tmp_path):
    model = ScriptedModel()
    asked = set()

    def answer(path, headers, body):
        asked.add((path, headers["X-Session-Id"]))
        return json.dumps(model.send(body, "")).encode()

    out = tmp_path / "live.jsonl"
    assert main(["--upstream", serve(answer), "--out", str(out)]) == 0
    assert out.read_bytes() == gzip.decompress(traffic_file.read_bytes())
    assert {path for path, _ in asked} == {"/v1/chat/completions"}
    assert ("/v1/chat/completions", "PL-48201") in asked


def test_the_key_is_sent_only_where_there_is_one(serve):
    seen = []

    def answer(path, headers, body):
        seen.append(headers["Authorization"])
        return b'{"choices": [{"message": {"content": "yes"}}]}'

    url = serve(answer)
    for key in ("", "invented"):
        client = ChatClient(HttpTransport(url, key), "m")
        assert client.complete([{"role": "user", "content": "?"}], session="s")["content"] == "yes"
    assert seen == [None, "Bearer invented"]


@pytest.mark.parametrize(
    "payload", [b"<html>", b"[]", b"{}", b'{"choices": []}', b'{"choices": [{"message": null}]}']
)
def test_an_answer_of_another_shape_is_an_upstream_error(serve, payload):
    client = ChatClient(HttpTransport(serve(lambda *_: payload)), "m")
    with pytest.raises(UpstreamError):
        client.complete([{"role": "user", "content": "?"}], session="s")
