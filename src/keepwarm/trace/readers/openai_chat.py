"""Recorded calls of the OpenAI chat.completions or completions API."""

from __future__ import annotations

from collections.abc import Iterable

from keepwarm.trace.readers.base import AMBIGUOUS, CERTAIN, Reader, Unusable
from keepwarm.trace.readers.chat import answer_of, chat_body, kind
from keepwarm.trace.readers.fields import (
    as_count,
    as_duration,
    as_object,
    as_seconds,
    as_text,
    call_site_of,
    chat_usage,
    first,
    from_json_text,
    session_of,
    token_ids,
)
from keepwarm.trace.readers.shapes import Api, api_of, body_and_response
from keepwarm.trace.records import JsonObject, Request

START_KEYS = ("timestamp", "time", "start", "start_time", "startTime", "created_at", "ts")
END_KEYS = ("end", "end_time", "endTime")
TTFT_KEYS = ("time_to_first_token", "ttft", "ttft_s")

# Marks of formats that carry a chat body too, but mean something of their own by it.
_FOREIGN_KEYS = ("custom_id", "call_type", "traceId", "resourceSpans", "trajectory")


class OpenAIChatReader(Reader):
    """Calls of the OpenAI chat.completions or completions API, as a proxy or an application logs them.

    A record holds the request body under ``body`` or ``request``, or is the body itself. Beside
    it may stand ``id``, a time (``timestamp``, ``time``, ``start``, ``start_time``; seconds,
    milliseconds, microseconds, nanoseconds or ISO 8601), an end (``end``, ``end_time``), the time to
    first token in seconds, ``response`` (with ``usage`` there or in the record), a session
    (``session_id``, ``conversation_id``, ``thread_id``, ``chat_id``, also in ``metadata``), a call
    site in ``metadata`` (``call_site``, ``prompt_name``, ``feature``, ``operation``),
    ``chat_template`` (a file beside the trace) and ``engine.block_size``. Completions bodies give
    their ``prompt`` as text or token ids.
    """

    name = "openai-chat"

    @staticmethod
    def score(record: JsonObject) -> float:
        """By the marks of the chat body; messages alone could be Anthropic's too."""
        body, response = body_and_response(record)
        api = api_of(from_json_text(body), response)
        if api not in (Api.CHAT, Api.UNCLEAR) or any(key in record for key in _FOREIGN_KEYS):
            return 0.0
        return CERTAIN if api is Api.CHAT else AMBIGUOUS

    def read(self, record: JsonObject, line: int) -> Iterable[Request]:
        """One request per record."""
        raw_body, response = body_and_response(record)
        raw_body = from_json_text(raw_body)
        if not isinstance(raw_body, dict):
            raise Unusable(f"the request body is {kind(raw_body)}; an object is expected")
        body = chat_body(raw_body)
        choice = _first_choice(response)
        meta, body_meta = record.get("metadata"), raw_body.get("metadata")
        prompt_ids = body.prompt_token_ids or token_ids(
            first(response, "prompt_token_ids") or choice.get("prompt_token_ids")
        )
        request = Request(
            line=line,
            id=as_text(record.get("id")) or as_text(response.get("id")) or f"line-{line}",
            time_s=time_of(record, response),
            session=session_of(record, meta, body_meta),
            call_site=call_site_of(meta, body_meta) or as_text(record.get("call_site")),
            model=body.model or as_text(record.get("model")) or as_text(response.get("model")) or "",
            messages=body.messages,
            tools=body.tools,
            params=body.params if raw_body is not record else _own_params(body.params),
            prompt_text=body.prompt_text,
            prompt_token_ids=prompt_ids,
            answer=answer_of(response),
            answer_token_ids=token_ids(choice.get("token_ids")),
            usage=chat_usage(first(response, "usage") or record.get("usage")),
            ttft_s=as_duration(first(record, *TTFT_KEYS)),
            end_s=as_seconds(first(record, *END_KEYS)),
            chat_template=as_text(record.get("chat_template")) if raw_body is not record else None,
            block_size=as_count(as_object(record.get("engine")).get("block_size")) or None,
        )
        return (request,)


def time_of(record: JsonObject, response: JsonObject) -> float | None:
    """When the call began; failing that, when the server says it created the answer."""
    recorded = first(record, *START_KEYS)
    return as_seconds(recorded if recorded is not None else response.get("created"))


def _first_choice(response: JsonObject) -> JsonObject:
    choices = response.get("choices")
    return as_object(choices[0]) if isinstance(choices, list) and choices else {}


def _own_params(params: JsonObject) -> JsonObject:
    """Parameters of a body that is the record itself, without what surrounds a call."""
    around = {"id", "response", "usage", "engine", *START_KEYS, *END_KEYS, *TTFT_KEYS, "session_id"}
    return {key: value for key, value in params.items() if key not in around}
