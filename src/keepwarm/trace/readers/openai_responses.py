"""Recorded calls of the OpenAI Responses API."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from keepwarm.trace.readers.base import CERTAIN, Reader, Unusable
from keepwarm.trace.readers.chat import Body, body_object, kind, params_of, tools_of
from keepwarm.trace.readers.dialogue import Dialogue
from keepwarm.trace.readers.envelope import Answer, call_of, request_of
from keepwarm.trace.readers.fields import as_list, as_text, chat_usage, first
from keepwarm.trace.readers.responses_items import add_item
from keepwarm.trace.readers.shapes import Api, api_of
from keepwarm.trace.records import JsonObject, Request

_REMEMBERED_RESPONSES = 1_000


class OpenAIResponsesReader(Reader):
    """Calls of the OpenAI Responses API, as a proxy or an application logs them.

    A record holds the request body under `body` or `request`, or is the body itself; what may stand
    around it is the same as for `openai-chat`. `instructions` become `messages[0]`, the `input` items the
    messages after it: function calls become tool calls of the assistant message they belong to, their
    outputs messages of the role `tool`, reasoning that is told becomes `reasoning_content`.
    `previous_response_id` is followed to one of the last 1,000 responses of the same file; if it
    is not there, the beginning of the prompt is unknown and the line is skipped.
    """

    name = "openai-responses"

    def __init__(self) -> None:
        self._earlier: OrderedDict[str, list[JsonObject]] = OrderedDict()

    @staticmethod
    def score(record: JsonObject) -> float:
        """By `input` in place of messages."""
        if "custom_id" in record or "call_type" in record or "traceId" in record:
            return 0.0
        return CERTAIN if api_of(call_of(record)) is Api.RESPONSES else 0.0

    def read(self, record: JsonObject, line: int) -> Iterable[Request]:
        """One request per record; remembers it for those that continue it."""
        call = call_of(record)
        raw_body = body_object(call.body)
        body = responses_body(raw_body, self._before(raw_body))
        output = Dialogue()
        try:
            for index, item in enumerate(as_list(call.response.get("output"))):
                add_item(output, item, f"output[{index}]")
        except Unusable:  # the prompt is good all the same
            output = Dialogue()
        self._remember(call.response, raw_body, body, output)
        answer = output.messages[-1] if output.messages else None
        usage = chat_usage(first(call.response, "usage") or record.get("usage"))
        return (request_of(record, call, body, Answer(answer, usage), line),)

    def _before(self, body: JsonObject) -> list[JsonObject]:
        previous = as_text(body.get("previous_response_id"))
        if previous is None:
            return []
        if previous not in self._earlier:
            raise Unusable(
                f"previous_response_id {previous!r} is not among the earlier lines, so the beginning of "
                "the prompt is unknown; record the whole conversation"
            )
        return self._earlier[previous]

    def _remember(self, response: JsonObject, raw_body: JsonObject, body: Body, output: Dialogue) -> None:
        response_id = as_text(response.get("id"))
        if response_id is None:
            return
        # Instructions hold for one call; input and output are what the next one continues.
        own = body.messages[1:] if raw_body.get("instructions") else body.messages
        self._earlier[response_id] = [*own, *output.messages]
        if len(self._earlier) > _REMEMBERED_RESPONSES:
            self._earlier.popitem(last=False)


def responses_body(body: JsonObject, before: list[JsonObject]) -> Body:
    """A body of the Responses API in the chat shape, after the messages ``before``; raises Unusable."""
    dialogue = Dialogue()
    instructions = body.get("instructions")
    if instructions:
        if not isinstance(instructions, str):
            raise Unusable(f"instructions is {kind(instructions)}; text is expected")
        dialogue.say("system", instructions)
    dialogue.messages.extend(before)
    items = body.get("input")
    if isinstance(items, str) and items:
        dialogue.say("user", items)
    elif not isinstance(items, list):
        raise Unusable(f"input is {kind(items)}; text or a list is expected")
    elif not items:
        raise Unusable("input is empty")
    else:
        for index, item in enumerate(items):
            add_item(dialogue, item, f"input[{index}]")
    model = as_text(body.get("model")) or ""
    return Body(model, dialogue.messages, tools_of(body.get("tools")), params_of(body))
