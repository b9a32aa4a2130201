"""Recorded calls of the Anthropic Messages API."""

from __future__ import annotations

from collections.abc import Iterable

from keepwarm.trace.readers.anthropic_blocks import anthropic_answer, anthropic_body
from keepwarm.trace.readers.base import AMBIGUOUS, CERTAIN, Reader
from keepwarm.trace.readers.chat import body_object
from keepwarm.trace.readers.envelope import Answer, call_of, request_of
from keepwarm.trace.readers.fields import anthropic_usage, first
from keepwarm.trace.readers.shapes import Api, api_of
from keepwarm.trace.records import JsonObject, Request


class AnthropicMessagesReader(Reader):
    """Calls of the Anthropic Messages API, as a proxy or an application logs them.

    A record holds the request body under `body` or `request` (`params` in a batch file), or is the
    body itself; what may stand around it is the same as for `openai-chat`. The `system` text becomes
    `messages[0]`, `tool_use` blocks become tool calls and `tool_result` blocks messages of the role
    `tool`, `input_schema` becomes `function.parameters`, thinking becomes `reasoning_content`.
    `cache_control` marks are left out: they are no prompt text. In the usage, prompt tokens are
    the sum of fresh, written and read ones.
    """

    name = "anthropic-messages"

    @staticmethod
    def score(record: JsonObject) -> float:
        """By marks of the Messages API; mere messages are more often OpenAI's."""
        api = api_of(call_of(record))
        if api is Api.ANTHROPIC:
            return CERTAIN
        return AMBIGUOUS - 0.1 if api is Api.UNCLEAR else 0.0

    def read(self, record: JsonObject, line: int) -> Iterable[Request]:
        """One request per record."""
        call = call_of(record)
        body = anthropic_body(body_object(call.body))
        usage = anthropic_usage(first(call.response, "usage") or record.get("usage"))
        answer = Answer(anthropic_answer(call.response.get("content")), usage)
        return (request_of(record, call, body, answer, line),)
