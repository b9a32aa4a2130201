"""What the drill of the fleet takes for an answer: scripts/fleet/sessions.py against a stub."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from scripts.fleet.sessions import CUT_OFF, Turn, ask
from tests.replay.recorder.stub import Call, Stub

WHOLE: dict[str, Any] = {
    "model": "r1",
    "usage": {"prompt_tokens": 7, "prompt_tokens_details": {"cached_tokens": 3}},
}


def end_early(call: Call) -> None:
    call.start_stream()
    call.event(WHOLE)
    call.end()


def say_no_json(call: Call) -> None:
    call.start_stream()
    call.piece(b"<html>a gateway")
    call.end()


def say_a_list(call: Call) -> None:
    call.json([WHOLE])


@pytest.mark.parametrize(
    ("script", "is_streamed"),
    [(end_early, True), (say_no_json, True), (say_no_json, False), (say_a_list, False)],
)
def test_what_is_cut_off_is_lost(script: Callable[[Call], None], is_streamed: bool) -> None:
    with Stub() as stub:
        stub.script = script
        answer = ask(stub.url, Turn("s", [1], 1, is_streamed))
    assert (answer.status, answer.cached_tokens) == (CUT_OFF, 0)
    assert answer.error


def test_a_whole_answer_is_counted() -> None:
    with Stub() as stub:
        stub.script = lambda call: call.stream({"id": "c"}, WHOLE)
        streamed = ask(stub.url, Turn("s", [1], 1, is_streamed=True))
        stub.script = lambda call: call.json(WHOLE)
        plain = ask(stub.url, Turn("s", [1], 1))
    for answer in (streamed, plain):
        assert (answer.status, answer.replica, answer.error) == (200, "r1", "")
        assert (answer.prompt_tokens, answer.cached_tokens) == (7, 3)
