"""The control endpoint over real connections: who may say what, and what no client can do to it."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepwarm.policies.sessions import SessionId, Tier
from keepwarm.reuse.calls import ToolCall
from keepwarm.vllm.hints import listener as listening
from keepwarm.vllm.hints.hint import MOST_BODY_BYTES
from keepwarm.vllm.hints.listener import HintListener
from tests.hints.endpoint import (
    PATIENCE_S,
    TOKEN,
    Answer,
    Settings,
    exchange,
    idle_table,
    read_answer,
    request,
    started,
)

LS = {"tool": "bash", "arguments": {"command": "ls"}}


def test_a_hint_reaches_the_table_at_the_next_step(listener: HintListener) -> None:
    table = idle_table("a", "b", "c", "d")
    assert exchange(listener.port, request("/keepwarm/sessions/a", LS)) == Answer(202)
    assert exchange(listener.port, request("/keepwarm/sessions/b", {"awaits": "human"})) == Answer(202)
    assert exchange(listener.port, request("/keepwarm/sessions/c", {"finished": True})) == Answer(202)
    assert exchange(listener.port, request("/keepwarm/sessions/d", {"idle": True})) == Answer(202)
    listener.drain(table, 11.0)
    known = table.get(SessionId("a"))
    assert known is not None
    assert known.call == ToolCall("bash", '{"command":"ls"}')
    tiers = [table.rank(SessionId(session)).tier for session in "abcd"]
    assert tiers == [Tier.TOOL, Tier.HUMAN, Tier.FINISHED, Tier.TOOL]
    assert (listener.counts.accepted, listener.counts.applied) == (4, 4)


def test_a_connection_is_kept(listener: HintListener) -> None:
    with socket.create_connection(("127.0.0.1", listener.port), timeout=PATIENCE_S) as connection:
        for _ in range(3):
            connection.sendall(request(body=LS, Connection=None))
            assert connection.recv(4096).startswith(b"HTTP/1.1 202 Accepted\r\n")
        connection.sendall(request(body=LS, Connection=None) + request(body=LS))  # and one after another
        assert read_answer(connection) == Answer(202)
    assert listener.counts.accepted == 5


@pytest.mark.parametrize(
    ("data", "status", "reason"),
    [
        (request(token=None), 401, "Authorization"),
        (request(token=TOKEN[:-1]), 401, "Authorization"),
        (request(token=TOKEN + "0"), 401, "Authorization"),
        (request(token="ä" * len(TOKEN)), 401, "Authorization"),
        (request(token=None, Authorization=f"Basic {TOKEN}"), 401, "Authorization"),
        (request(Host="evil.example"), 403, "Host"),
        (request(Host="127.0.0.1.evil.example"), 403, "Host"),
        (request(Host=None), 403, "Host"),
        (request(Origin="http://127.0.0.1"), 403, "Origin"),
        (request("/"), 404, "/keepwarm/sessions/"),
        (request("/keepwarm/sessions/"), 404, "/keepwarm/sessions/"),
        (request("/keepwarm/sessions/a/b"), 404, "%2F"),
        (request("/keepwarm/sessions/a?b"), 404, "%2F"),
        (request("http://127.0.0.1/keepwarm/sessions/a"), 404, "/keepwarm/sessions/"),
        (request("/keepwarm/sessions/%FF"), 400, "percent-encoded"),
        (request("/keepwarm/sessions/" + "a" * 257), 400, "256"),
        (request(method="GET"), 405, "POST"),
        (request(method="DELETE"), 405, "POST"),
        (request(Content_Length=None), 411, "Content-Length"),
        (request(Transfer_Encoding="chunked"), 411, "Content-Length"),
        (request(Content_Length="-1"), 400, "Content-Length"),
        (request(Content_Length="²"), 400, "Content-Length"),
        (request(Content_Length=str(MOST_BODY_BYTES + 1)), 413, str(MOST_BODY_BYTES)),
        (request(Content_Length="9" * 4000), 413, str(MOST_BODY_BYTES)),
        (request(body=b"[" * MOST_BODY_BYTES), 400, "JSON"),
        (request(X="x" * 10_000), 431, "8192"),
        (b"POST / HTTP/2\r\n\r\n", 400, "request line"),
        (b"nonsense\r\n\r\n", 400, "request line"),
        (b"POST / HTTP/1.1\r\n folded: x\r\n\r\n", 400, "header"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, "twice"),
        (b"x" * 20_000, 431, "8192"),
    ],
)
def test_what_is_refused(listener: HintListener, data: bytes, status: int, reason: str) -> None:
    answer = exchange(listener.port, data)
    assert answer.status == status
    assert answer.error is not None
    assert reason in answer.error
    assert "\n" not in answer.error
    assert TOKEN not in answer.error
    assert (listener.counts.accepted, listener.counts.refused) == (0, 1)
    assert exchange(listener.port, request()) == Answer(202)  # and the next is served


def test_an_id_is_percent_encoded(listener: HintListener) -> None:
    table = idle_table("run/17 ü")
    assert exchange(listener.port, request("/keepwarm/sessions/run%2F17%20%C3%BC", LS)) == Answer(202)
    listener.drain(table, 11.0)
    assert listener.counts.applied == 1


def test_a_body_too_long_to_be_held_is_answered(listener: HintListener) -> None:
    assert exchange(listener.port, request(body=b"x" * 900_000)).status == 413


@given(st.binary(max_size=600))
@settings(max_examples=60)
def test_random_bytes(fuzzed: HintListener, data: bytes) -> None:
    assert exchange(fuzzed.port, data).status in (0, 400, 403, 431)


@given(st.binary(max_size=600))
@settings(max_examples=60)
def test_random_bodies(fuzzed: HintListener, body: bytes) -> None:
    assert exchange(fuzzed.port, request(body=body)).status in (202, 400)


@given(st.binary(min_size=1, max_size=40), st.integers(0, 200))
@settings(max_examples=60)
def test_a_request_with_bytes_changed(fuzzed: HintListener, noise: bytes, at: int) -> None:
    data = bytearray(request(body=LS))
    data[at : at + len(noise)] = noise
    answer = exchange(fuzzed.port, bytes(data))
    assert answer.status == 0 or 200 <= answer.status < 500


@pytest.fixture(scope="module")
def fuzzed() -> Iterator[HintListener]:
    listener = started()
    yield listener
    assert exchange(listener.port, request()) == Answer(202)  # after all of them
    listener.close()


def test_slow_clients_are_given_up(listener: HintListener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "REQUEST_S", 0.2)
    half = request(body=LS)[:40]
    assert exchange(listener.port, half, ends=False).status == 408
    assert exchange(listener.port, request(body=LS)[:-3], ends=False).status == 408
    monkeypatch.setattr(listening, "IDLE_S", 0.2)
    assert exchange(listener.port, b"", ends=False) == Answer(0)
    monkeypatch.undo()
    assert exchange(listener.port, request()) == Answer(202)


def test_more_connections_than_allowed(listener: HintListener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "MOST_CONNECTIONS", 3)
    open_ones = []
    for _ in range(3):
        connection = socket.create_connection(("127.0.0.1", listener.port), timeout=PATIENCE_S)
        connection.sendall(request(body=LS, Connection=None))
        assert connection.recv(4096).startswith(b"HTTP/1.1 202 ")  # it is known to be open by now
        open_ones.append(connection)
    assert exchange(listener.port, b"").status == 503
    for connection in open_ones:
        connection.close()
    deadline_s = time.monotonic() + PATIENCE_S
    while exchange(listener.port, request()).status == 503:
        assert time.monotonic() < deadline_s


def test_a_flood_drops_the_oldest(listener: HintListener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "MOST_PENDING", 5)
    table = idle_table(*(f"s{number}" for number in range(8)))
    for number in range(8):
        assert exchange(listener.port, request(f"/keepwarm/sessions/s{number}", LS)) == Answer(202)
    listener.drain(table, 11.0)
    assert (listener.counts.accepted, listener.counts.dropped, listener.counts.applied) == (8, 3, 5)
    calls = [known.call for known in table]
    assert calls[:3].count(None) == 3
    assert None not in calls[3:]


def test_a_step_takes_a_set_number(listener: HintListener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "MOST_PER_STEP", 2)
    table = idle_table("a")
    for _ in range(5):
        exchange(listener.port, request(body=LS))
    taken = []
    for _ in range(3):
        listener.drain(table, 11.0)
        taken.append(listener.counts.applied)
    assert taken == [2, 4, 5]


def test_ten_thousand_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "MOST_PER_SECOND", 1_000_000)
    listener = started()
    table = idle_table("a")
    try:
        with socket.create_connection(("127.0.0.1", listener.port), timeout=PATIENCE_S) as connection:
            reading = threading.Thread(target=_swallow, args=(connection,))
            reading.start()
            for start in range(0, 10_000, 500):
                connection.sendall(
                    b"".join(
                        request(f"/keepwarm/sessions/made-up-{number}", LS, Connection=None)
                        for number in range(start, start + 500)
                    )
                )
            connection.shutdown(socket.SHUT_WR)
            reading.join(PATIENCE_S)
        assert listener.counts.accepted == 10_000
        assert listener.counts.dropped == 10_000 - listening.MOST_PENDING
        while listener.counts.unknown < listening.MOST_PENDING:
            listener.drain(table, 11.0)
        assert [known.id for known in table] == ["a"]  # ids that nobody served push nobody out
    finally:
        listener.close()


def _swallow(connection: socket.socket) -> None:
    while connection.recv(65_536):
        pass


def test_a_fault_of_ours_reaches_nobody(listener: HintListener, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        exchange(listener.port, request(body=LS))
        listener.drain(None, 11.0)  # type: ignore[arg-type]
    assert [record.message for record in caplog.records if "could not be applied" in record.message] != []
    assert len([record for record in caplog.records if "could not be applied" in record.message]) == 1


def test_refusals_are_logged_once_for_each_status(
    listener: HintListener, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(3):
        exchange(listener.port, request(token=None))
        exchange(listener.port, request(body={"tool": 1}))
    assert listener.counts.refused == 6
    assert len(caplog.records) == 2


@pytest.mark.parametrize(
    ("given_settings", "message"),
    [
        (
            Settings(control_token=None),
            "neither KEEPWARM_CONTROL_TOKEN nor KEEPWARM_CONTROL_TOKEN_FILE is set",
        ),
        (Settings(control_token="short"), "16 or more"),
        (Settings(control_token="with blanks in between"), "ASCII"),
        (Settings(control_token="ümläüte-ümläüte-ümläüte"), "ASCII"),
        (Settings(control_token=None, control_token_file="/no/such/file"), "cannot be read"),
        (Settings(control_port=70_000), "nothing can listen"),
    ],
)
def test_it_does_not_start(given_settings: Settings, message: str, caplog: pytest.LogCaptureFixture) -> None:
    assert HintListener.start(given_settings) is None
    assert [message in record.message for record in caplog.records] == [True]


def test_nobody_asked_for_it(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    assert HintListener.start(Settings(control_port=None)) is None
    assert not caplog.records


def test_a_token_in_a_file(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    listener = HintListener.start(Settings(control_token=None, control_token_file=str(file)))
    assert listener is not None
    try:
        assert exchange(listener.port, request()) == Answer(202)
        assert str(listener.port) in caplog.text
        assert TOKEN not in caplog.text
    finally:
        listener.close()


def test_each_engine_has_its_port() -> None:
    first = started()
    try:
        taken = Settings(control_port=first.port)
        assert HintListener.start(taken) is None  # one warning, and the engine goes on
        second = HintListener.start(taken, engine=1)
        if second is not None:  # unless somebody else has that port
            assert second.port == first.port + 1
            second.close()
    finally:
        first.close()


def test_closing_frees_port_and_thread() -> None:
    before = set(threading.enumerate())
    listener = started()
    with socket.create_connection(("127.0.0.1", listener.port), timeout=PATIENCE_S) as connection:
        connection.sendall(request(body=LS)[:30])
        listener.close()
        listener.close()
        assert read_answer(connection) == Answer(0)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", listener.port), timeout=PATIENCE_S)
    assert set(threading.enumerate()) == before
