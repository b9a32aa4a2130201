"""Nothing that lets someone in is in the file, or anywhere else."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwarm.replay.recorder.headers import is_credential, secrets_of
from keepwarm.replay.recorder.lines import Line, encode_line, recorded_body
from tests.replay.recorder.conftest import hello
from tests.replay.recorder.running import Recorder
from tests.replay.recorder.stub import Call, Stub, chat_answer

CHAT = "/v1/chat/completions"

CARRIED = {
    "Authorization": "Bearer sk-live-3b9f1c2e7d",
    "api-key": "azure-key-77aa99bb",
    "X-API-Key": "x-key-55cc33dd",
    "X-Goog-Api-Key": "goog-key-1234abcd",
    "Cookie": 'session=cookie-value-9e8d; theme="other-cookie-7f"',
    "Proxy-Authorization": "Basic cHJveHk6cGFzc3dvcmQ=",
    "X-Amz-Security-Token": "amz-token-aabbccdd",
    "X-Signature": 'sig"quoted"value',
}
QUERY = "api-version=2025-01-01&api-key=query-key-4d5e6f&sig=a%2Bb%2Fquery-signature"
NEVER = (
    *("sk-live-3b9f1c2e7d", "azure-key-77aa99bb", "x-key-55cc33dd", "goog-key-1234abcd", "cookie-value-9e8d"),
    *("other-cookie-7f", "cHJveHk6cGFzc3dvcmQ=", "amz-token-aabbccdd", "query-key-4d5e6f", "quoted"),
)


def assert_nowhere(recorder: Recorder, *secrets: str) -> None:
    recorder.stop()
    everything = recorder.out.read_text() + recorder.said
    assert [secret for secret in secrets if secret in everything] == []


@pytest.fixture
def own(start: Callable[..., Recorder], upstream: Stub) -> Recorder:
    return start(upstream.url)


def test_credentials_are_sent_on_and_not_written(own: Recorder, upstream: Stub) -> None:
    httpx2.post(f"{own.url}{CHAT}?{QUERY}", json=hello(), headers=CARRIED, trust_env=False)
    asked = upstream.asked[0]
    assert asked.target == f"{CHAT}?{QUERY}"
    for name, value in CARRIED.items():
        expected = None if name == "Proxy-Authorization" else value  # meant for a proxy, not for the upstream
        assert asked.header(name) == expected
    assert own.next_line()["path"] == CHAT
    assert_nowhere(own, *NEVER, "api-version")


@pytest.mark.parametrize("status", [200, 401, 500])
@pytest.mark.parametrize("content_type", ["application/json", "text/html", "text/event-stream"])
def test_an_upstream_that_repeats_them(own: Recorder, upstream: Stub, status: int, content_type: str) -> None:
    """Debug pages and refusals show what was sent."""

    def repeat(call: Call) -> None:
        shown = json.dumps({"error": {"message": str(call.asked)}, "target": call.asked.target})
        body = f"data: {shown}\n\ndata: {shown[:-5]}\n\n" if "event" in content_type else shown
        call.answer(body.encode(), status, content_type)

    upstream.script = repeat
    httpx2.post(f"{own.url}{CHAT}?{QUERY}", json=hello(), headers=CARRIED, trust_env=False)
    assert "‹removed›" in json.dumps(own.next_line(), ensure_ascii=False)
    assert_nowhere(own, *NEVER)


def test_an_upstream_that_breaks_off_within_one(own: Recorder, upstream: Stub) -> None:
    def cut(call: Call) -> None:
        call.start(500, {"Content-Type": "text/plain", "Content-Length": "1000"})
        call.wfile.write(b"refused: Authorization: Bearer sk-live-3b9f1c2e")
        call.hang_up()

    upstream.script = cut
    with pytest.raises(httpx2.RemoteProtocolError):
        httpx2.post(f"{own.url}{CHAT}", json=hello(), headers=CARRIED, trust_env=False)
    assert own.next_line()["response"] == "refused: Authorization: ‹removed›"
    assert_nowhere(own, "sk-live")


def test_an_upstream_that_cannot_be_reached(start: Callable[..., Recorder]) -> None:
    recorder = start("http://127.0.0.1:9")
    answer = httpx2.post(f"{recorder.url}{CHAT}?{QUERY}", json=hello(), headers=CARRIED, trust_env=False)
    assert answer.status_code == 502
    assert not any(secret in answer.text for secret in NEVER)
    assert_nowhere(recorder, *NEVER)


def test_credentials_in_a_body(own: Recorder, upstream: Stub) -> None:
    remote = {"type": "mcp", "server_url": "https://tools", "headers": {"X-Any": "mcp-header-5e6f"}}
    keyed = {"type": "mcp", "server_label": "b", "authorization": "mcp-authorization-9a"}
    schema = {"type": "object", "properties": {"api_key": {"type": "string"}}}
    function = {"type": "function", "function": {"name": "log_in", "parameters": schema}}
    body = hello(
        api_key="sk-in-body-2b3c", tools=[remote, keyed, function], max_tokens=9, prompt_cache_key="k"
    )
    upstream.script = lambda call: call.json(chat_answer("sk-in-body-2b3c", tools=[remote]))
    httpx2.post(f"{own.url}{CHAT}", json=body, trust_env=False)
    assert json.loads(upstream.asked[0].body) == body
    line = own.next_line()
    assert line["body"] == {
        **body,
        "api_key": "‹removed›",
        "tools": [{**remote, "headers": "‹removed›"}, {**keyed, "authorization": "‹removed›"}, function],
    }
    assert line["response"]["choices"][0]["message"]["content"] == "‹removed›"
    assert_nowhere(own, "sk-in-body-2b3c", "mcp-header-5e6f", "mcp-authorization-9a")


@pytest.mark.parametrize("host", ["attacker.example", "127.0.0.1.attacker.example:80", "", "[::2]"])
def test_names_that_are_not_this_machine_are_refused(recorder: Recorder, upstream: Stub, host: str) -> None:
    """A page whose name resolves to this machine, DNS rebinding, must not read answers."""
    answer = httpx2.post(f"{recorder.url}{CHAT}", json=hello(), headers={"Host": host}, trust_env=False)
    assert answer.status_code == 403
    assert answer.json()["error"]["code"] == "host_not_allowed"
    assert upstream.asked == []
    assert recorder.lines()[recorder._read_lines :] == []


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:80", "127.0.0.1", "[::1]:8001", "app.localhost"])
def test_names_of_this_machine_are_welcome(recorder: Recorder, host: str) -> None:
    answer = httpx2.post(f"{recorder.url}{CHAT}", json=hello(), headers={"Host": host}, trust_env=False)
    assert answer.status_code == 200
    recorder.next_line()


def test_a_target_that_is_another_server(recorder: Recorder, upstream: Stub) -> None:
    """As a client sends it that takes this for a forward proxy."""
    proxied = httpx2.Client(proxy=recorder.url, trust_env=False)
    with proxied:
        answer = proxied.get("http://localhost:1/v1/models")
    assert answer.status_code == 400
    assert upstream.asked == []


def test_the_file_is_the_users_alone(recorder: Recorder) -> None:
    assert stat.S_IMODE(recorder.out.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        *((name.lower(), True) for name in CARRIED),
        *((name, False) for name in ("x-session-id", "content-type", "user-agent", "accept", "x-request-id")),
    ],
)
def test_names_of_credentials(name: str, is_one: bool) -> None:
    assert is_credential(name) == is_one


_ASCII = st.characters(min_codepoint=33, max_codepoint=126)


@given(st.text(_ASCII, min_size=8, max_size=30), st.text(_ASCII, max_size=10))
def test_no_credential_survives_anywhere(secret: str, around: str) -> None:
    """Whatever it looks like, even a piece of JSON, and wherever it stands."""
    secrets = secrets_of([(b"Authorization", f"Bearer {secret}".encode())], b"")
    text = f"{around}{secret}{around}"
    body = recorded_body(json.dumps({"messages": [{"content": text}], "model": text}).encode())
    line = Line(
        id="1",
        timestamp=1.0,
        end=2.0,
        status=200,
        path="/",
        session_id=text,
        body=body.raw,
        response=body.raw,
    )
    written = encode_line(line, secrets)
    assert isinstance(json.loads(written), dict)
    if any(character.isalpha() for character in secret):
        content = json.loads(written)
        for held in (content.get("body") or {}, content.get("response") or {}):
            assert secret not in str(held.get("model"))
            assert secret not in str(held.get("messages"))
        assert secret not in str(content.get("session_id"))
