"""Small, forgiving look-ups in decoded JSON: odd types give ``None``, never an exception."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from keepwarm.trace.records import JsonObject, Usage

SESSION_KEYS = ("session_id", "sessionId", "conversation_id", "conversationId", "thread_id", "chat_id")
"""Names under which a record, its metadata or its body says which session it belongs to."""

CALL_SITE_KEYS = ("call_site", "callsite", "callSite", "prompt_name", "promptName", "feature", "operation")
"""Names under which metadata says which place of the application made the call."""

_NOTHING: JsonObject = {}


def as_object(value: object) -> JsonObject:
    """The value if it is a JSON object, else an empty one (shared: do not change it)."""
    return value if isinstance(value, dict) else _NOTHING


def as_list(value: object) -> list[Any]:
    """The value if it is a JSON array, else an empty one."""
    return value if isinstance(value, list) else []


def as_text(value: object) -> str | None:
    """A non-empty string; a number becomes its decimal text (ids are numbers in some files)."""
    if isinstance(value, str):
        return value or None
    if isinstance(value, int) and not isinstance(value, bool):
        # Longer integers are no ids, and Python refuses to print them.
        return str(value) if value.bit_length() < 1024 else None
    return None


def as_count(value: object) -> int | None:
    """A count of tokens: an integer from 0 to 2**53, also as text or as a float."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 17:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float) and not value.is_integer():
        return None
    return int(value) if 0 <= value <= 2**53 else None


def as_seconds(value: object) -> float | None:
    """A point in time as seconds; ``None`` for what is none (negative, NaN, other text).

    A number's unit follows from its magnitude: below 1e11 seconds (to the year 5138), below
    1e14 milliseconds, below 1e17 microseconds, else nanoseconds. Text is a number or ISO 8601;
    without a zone it is UTC.
    """
    if isinstance(value, str):
        return _seconds_of_text(value.strip())
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not 0 <= value < 1e20:  # also false for NaN
        return None
    for limit, per_second in ((1e11, 1), (1e14, 1_000), (1e17, 1_000_000)):
        if value < limit:
            return value / per_second
    return value / 1_000_000_000


def as_duration(value: object) -> float | None:
    """A duration in seconds: a finite number from 0."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < math.inf else None


def seconds_between(start_s: float | None, end_s: float | None) -> float | None:
    """The time from ``start_s`` to ``end_s``, if both are known and in this order."""
    return None if start_s is None or end_s is None or end_s < start_s else end_s - start_s


def _seconds_of_text(text: str) -> float | None:
    if len(text) > 64:
        return None
    try:
        return as_seconds(float(text))
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(text.removesuffix(" UTC"))
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        seconds = moment.timestamp()
    except (ValueError, OverflowError):
        return None
    return seconds if seconds >= 0 else None


def first(record: JsonObject, *names: str) -> Any:
    """The first value among ``names`` that is there and not null."""
    for name in names:
        value = record.get(name)
        if value is not None:
            return value
    return None


def session_of(*objects: object) -> str | None:
    """The session named by the first object that names one (see ``SESSION_KEYS``)."""
    return _first_text(objects, SESSION_KEYS)


def call_site_of(*objects: object) -> str | None:
    """The call site named by the first object that names one (see ``CALL_SITE_KEYS``)."""
    return _first_text(objects, CALL_SITE_KEYS)


def _first_text(objects: Iterable[object], keys: Sequence[str]) -> str | None:
    texts = (as_text(as_object(candidate).get(key)) for candidate in objects for key in keys)
    return next((text for text in texts if text is not None), None)


def token_ids(value: object) -> list[int] | None:
    """A non-empty list of token ids, else ``None``."""
    if not isinstance(value, list) or not value:
        return None
    return value if all(type(item) is int and 0 <= item < 2**31 for item in value) else None


def from_json_text(value: object) -> Any:
    """What a string of JSON says; any other value, and text that is no JSON, as it is."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
        return value
    try:
        return msgspec.json.decode(value)
    except (msgspec.DecodeError, RecursionError):
        return value


def to_json_text(value: object) -> str:
    """JSON with the key order of the value, as ``json.dumps`` spaces it; raises RecursionError."""
    return json.dumps(value, ensure_ascii=False)


def chat_usage(value: object) -> Usage:
    """Usage as the OpenAI APIs report it: ``prompt_tokens`` includes the cached ones."""
    usage = as_object(value)
    if not usage:
        return Usage()
    details = as_object(first(usage, "prompt_tokens_details", "input_tokens_details"))
    cached = first(details, "cached_tokens")
    if cached is None:
        cached = first(usage, "cached_tokens", "prompt_cache_hit_tokens")
    return Usage(
        prompt_tokens=as_count(first(usage, "prompt_tokens", "input_tokens")),
        output_tokens=as_count(first(usage, "completion_tokens", "output_tokens")),
        cached_tokens=as_count(cached),
    )


def anthropic_usage(value: object) -> Usage:
    """Usage as Anthropic reports it: ``input_tokens`` leaves out what was read or written."""
    usage = as_object(value)
    fresh = as_count(usage.get("input_tokens"))
    read = as_count(usage.get("cache_read_input_tokens"))
    written = as_count(usage.get("cache_creation_input_tokens"))
    return Usage(
        prompt_tokens=None if fresh is None else fresh + (read or 0) + (written or 0),
        output_tokens=as_count(usage.get("output_tokens")),
        cached_tokens=read,
    )
