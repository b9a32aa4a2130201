"""Tells the server what a session does once it has its answer; the request and its line wait for nothing."""

from __future__ import annotations

from keepwarm.hints import HintClient
from keepwarm.hints.answers import hint_of_answer
from keepwarm.replay.recorder.capture import decoded
from keepwarm.replay.recorder.exchange import Answer

_MOST_BYTES = 1024 * 1024  # of an answer that waits to be read; a longer one is not told of


def tell_of(hints: HintClient, answer: Answer) -> None:
    """Put the answer where the thread of ``hints`` reads it. Returns at once, never raises."""
    response = bytes(answer.response)
    if len(response) <= _MOST_BYTES:
        hints.later(answer.session_id, lambda: hint_of_answer(decoded(response), has_tools=answer.has_tools))
