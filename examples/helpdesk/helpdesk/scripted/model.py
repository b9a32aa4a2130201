"""The scripted model as a transport.

It answers from what the prompt says and nothing else: the time, the ticket number, the customer's name
and the articles are read wherever in the messages they stand, so the application may arrange its prompts
as it likes and keeps the answers as long as it says the same things.
"""

from __future__ import annotations

import json
import re

from helpdesk.client import ChatBody, ChatResponse
from helpdesk.scripted.case import Call, next_step
from helpdesk.scripted.letters import write_letter
from helpdesk.scripted.questions import answer_question
from helpdesk.scripted.sorting import sort_message
from helpdesk.tickets import ChatMessage

_PIECE = re.compile(r"[^\W\d_]{1,6}|\d{1,3}|[^\w\s]+|_")
_MESSAGE_OVERHEAD_TOKENS = 4


class ScriptedModel:
    """Answers chat completion requests deterministically; ids count up from the start of the object."""

    def __init__(self) -> None:
        self._answered = 0
        self._called = 0

    def send(self, body: ChatBody, session: str) -> ChatResponse:  # noqa: ARG002 - a transport gets it
        """Answer one request; ``session`` is not looked at."""
        self._answered += 1
        message = self._answer(body)
        prompt_tokens = count_prompt_tokens(body)
        completion_tokens = count_message_tokens(message)
        return {
            "id": f"chatcmpl-{self._answered:06d}",
            "object": "chat.completion",
            "model": body["model"],
            "choices": [
                {
                    "index": 0,
                    "message": message,
                    "finish_reason": "tool_calls" if message.get("tool_calls") else "stop",
                }
            ],
            "usage": {
                "prompt_tokens": prompt_tokens,
                "completion_tokens": completion_tokens,
                "total_tokens": prompt_tokens + completion_tokens,
            },
        }

    def _answer(self, body: ChatBody) -> ChatMessage:
        messages: list[ChatMessage] = body["messages"]
        if body.get("tools"):
            step = next_step(messages)
            return self._call_message(step) if isinstance(step, Call) else _text_message(step)
        if body.get("response_format"):
            return _text_message(sort_message(messages))
        if any("help-centre article" in str(message["content"]).lower() for message in messages):
            return _text_message(answer_question(messages))
        return _text_message(write_letter(messages))

    def _call_message(self, call: Call) -> ChatMessage:
        self._called += 1
        function = {"name": call.name, "arguments": call.arguments}
        tool_call = {"id": f"call_{self._called:05d}", "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [tool_call]}


def count_prompt_tokens(body: ChatBody) -> int:
    """Word pieces of a request: messages, tool definitions, and a little for each message."""
    tools = sum(_count(json.dumps(tool)) for tool in body.get("tools", []))
    return tools + sum(
        count_message_tokens(message) + _MESSAGE_OVERHEAD_TOKENS for message in body["messages"]
    )


def count_message_tokens(message: ChatMessage) -> int:
    """Word pieces of a message: letters in sixes, digits in threes, runs of other signs."""
    calls = message.get("tool_calls") or []
    called = sum(_count(call["function"]["name"]) + _count(call["function"]["arguments"]) for call in calls)
    return called + _count(message.get("content") or "")


def _count(text: str) -> int:
    return sum(1 for _ in _PIECE.finditer(text))


def _text_message(text: str) -> ChatMessage:
    return {"role": "assistant", "content": text}
