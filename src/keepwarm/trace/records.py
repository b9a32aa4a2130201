"""Recorded requests, whatever file they came from, in one shape."""

from __future__ import annotations

from typing import Any

import msgspec

JsonObject = dict[str, Any]


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """What the server counted, in tokens; ``None`` where the file does not say."""

    prompt_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None


class HashedPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt of which only block ids are recorded (Mooncake, Bailian, agent sessions).

    ``hash_ids`` name blocks of ``block_size`` tokens, equal ids mean an equal prefix;
    ``scope`` is put before each id where ids are local to a session. ``tool_tokens`` and
    ``system_tokens`` are how much of the prompt's head are tools and system text.
    """

    hash_ids: list[int]
    block_size: int
    input_tokens: int
    scope: str | None = None
    tool_tokens: int | None = None
    system_tokens: int | None = None


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One recorded LLM call, normalised to the OpenAI chat body.

    ``messages`` and ``tools`` have the shape of that body (the system text is
    ``messages[0]``, tool-call arguments are strings, content is text or a list of parts),
    so JSON paths mean the same for every input format. Of a hash-only trace ``messages``
    is empty and ``hashed`` is set; of a rendered prompt (debug log, completions)
    ``prompt_text`` is set and ``messages`` is empty.
    """

    line: int  # 1-based line of the file, or element of a JSON array
    id: str
    time_s: float | None = None  # epoch seconds, or seconds since the start of the trace
    session: str | None = None
    call_site: str | None = None  # only where the recorded metadata names it
    model: str = ""
    messages: list[JsonObject] = []
    tools: list[JsonObject] = []
    params: JsonObject = {}  # the rest of the body: cache_salt, prompt_logprobs, temperature, ...
    prompt_text: str | None = None
    prompt_token_ids: list[int] | None = None
    hashed: HashedPrompt | None = None
    answer: JsonObject | None = None  # the assistant message that came back
    answer_token_ids: list[int] | None = None
    usage: Usage = Usage()
    ttft_s: float | None = None
    end_s: float | None = None
    gap_s: float | None = None  # since the answer before, as recorded beside the times
    after_tool: bool | None = None  # the new part of the prompt is a tool's result; None: not told
    chat_template: str | None = None  # file name the record asks for, resolved beside the trace
    block_size: int | None = None  # from the record's ``engine``


class Skipped(msgspec.Struct, frozen=True):
    """A line that could not be used, and why, in words a person can act on."""

    line: int
    reason: str


class EncodingInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Which tokenizer and chat template made the tokens, and what that means for exactness."""

    tokenizer: str
    chat_template: str
    exact: bool
    note: str
