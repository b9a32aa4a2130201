"""Recorded calls of the OpenAI chat.completions or completions API."""

from __future__ import annotations

from collections.abc import Iterable

from keepwarm.trace.readers.base import AMBIGUOUS, CERTAIN, Reader
from keepwarm.trace.readers.chat import answer_of, body_object, chat_body
from keepwarm.trace.readers.envelope import Answer, call_of, request_of
from keepwarm.trace.readers.fields import as_list, as_object, chat_usage, first, token_ids
from keepwarm.trace.readers.shapes import Api, api_of
from keepwarm.trace.records import JsonObject, Request

# Marks of formats that carry a chat body too, but mean something of their own by what is around it.
_FOREIGN_KEYS = (
    "custom_id",
    "call_type",
    "traceId",
    "resourceSpans",
    "trajectory",
    "standard_logging_object",
)


class OpenAIChatReader(Reader):
    """Calls of the OpenAI chat.completions or completions API, as a proxy or an application logs them.

    A record holds the request body under `body` or `request`, or is the body itself. Around it may
    stand `id`; the start under `timestamp`, `time`, `start`, `start_time`, `startTime`, `created_at` or
    `ts` (a number in seconds, milliseconds, microseconds or nanoseconds, told apart by magnitude, or
    ISO 8601); the end under `end`, `end_time` or `endTime`; `time_to_first_token` in seconds;
    `response`, with `usage` there or in the record; a session under `session_id`, `conversation_id`,
    `thread_id` or `chat_id`, also in `metadata`; a call site in `metadata` under `call_site`,
    `prompt_name`, `feature` or `operation`; `chat_template`, a file beside the trace;
    `engine.block_size`. A completions body gives its `prompt` as text or as token ids.
    """

    name = "openai-chat"

    @staticmethod
    def score(record: JsonObject) -> float:
        """By the marks of a chat body; mere messages could be Anthropic's too."""
        if any(key in record for key in _FOREIGN_KEYS):
            return 0.0
        api = api_of(call_of(record))
        if api is Api.CHAT:
            return CERTAIN
        return AMBIGUOUS if api is Api.UNCLEAR else 0.0

    def read(self, record: JsonObject, line: int) -> Iterable[Request]:
        """One request per record."""
        call = call_of(record)
        body = chat_body(body_object(call.body))
        return (request_of(record, call, body, chat_answer(record, call.response), line),)


def chat_answer(record: JsonObject, response: JsonObject) -> Answer:
    """What a chat or completions response says; usage may stand beside it in the record."""
    choices = as_list(response.get("choices"))
    choice = as_object(choices[0]) if choices else {}
    prompt_ids = first(response, "prompt_token_ids") or choice.get("prompt_token_ids")
    return Answer(
        message=answer_of(response),
        usage=chat_usage(first(response, "usage") or record.get("usage")),
        prompt_token_ids=token_ids(prompt_ids),
        token_ids=token_ids(choice.get("token_ids")),
    )
