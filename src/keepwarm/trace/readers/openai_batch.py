"""Input files of the OpenAI batch API."""

from __future__ import annotations

from collections.abc import Iterable

from keepwarm.trace.readers.anthropic_blocks import anthropic_body
from keepwarm.trace.readers.base import CERTAIN, Reader, Unusable
from keepwarm.trace.readers.chat import body_object, chat_body
from keepwarm.trace.readers.envelope import Call, request_of
from keepwarm.trace.readers.openai_chat import chat_answer
from keepwarm.trace.readers.openai_responses import responses_body
from keepwarm.trace.readers.shapes import Api, api_of
from keepwarm.trace.records import JsonObject, Request


class OpenAIBatchReader(Reader):
    """Input files of the OpenAI batch API (vLLM's `run-batch` takes them too).

    A line holds `custom_id`, `url` and the `body` of a chat, completions or Responses call; `params`
    in its place is an Anthropic batch. Lines of an output file hold no prompt and are skipped.
    There are no times and no sessions.
    """

    name = "openai-batch"
    sessions_known = False

    @staticmethod
    def score(record: JsonObject) -> float:
        """By `custom_id` beside a body or a response."""
        if "custom_id" not in record:
            return 0.0
        return CERTAIN if any(key in record for key in ("body", "url", "params", "response")) else 0.0

    def read(self, record: JsonObject, line: int) -> Iterable[Request]:
        """One request per input line."""
        if "body" not in record and "params" not in record and "response" in record:
            raise Unusable("a line of a batch output file, which has no prompt; give the input file")
        raw_body = body_object(record.get("body", record.get("params")))
        call = Call(raw_body, {})
        api = api_of(call)
        if api is Api.RESPONSES:
            body = responses_body(raw_body, [])
        elif api is Api.ANTHROPIC:
            body = anthropic_body(raw_body)
        elif "input" in raw_body and "messages" not in raw_body:
            raise Unusable(f"a call of {record.get('url')!r}, which has no prompt to cache")
        else:
            body = chat_body(raw_body)
        return (request_of(record, call, body, chat_answer({}, {}), line),)
