"""From the bytes of a line to a decoded object, and which format a file has."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from keepwarm.trace.json_values import MAX_RECORD_BYTES, RawRecord
from keepwarm.trace.readers import READERS
from keepwarm.trace.readers.base import Reader, Unusable
from keepwarm.trace.readers.chat import kind
from keepwarm.trace.records import JsonObject

SURE = 0.9
"""From this score on a record is of a format and of no other."""

_SAMPLE_RECORDS = 200
_SAMPLE_MIN_RECORDS = 8
_SAMPLE_BYTES = 4 * 1024 * 1024
_SAMPLE_MAX_BYTES = 64 * 1024 * 1024  # how far a bad head is followed

_WRAPPERS = ("data", "items", "records", "requests", "observations", "logs", "results")


def decode_object(data: bytes | None) -> JsonObject:
    """The JSON object of one line; raises Unusable with a reason."""
    value = _decode(data)
    if not isinstance(value, dict):
        raise Unusable(f"the line is {kind(value)}; a JSON object is expected")
    return value


def _decode(data: bytes | None) -> Any:
    if data is None:
        raise Unusable(f"longer than {MAX_RECORD_BYTES // 2**20} MiB; split it")
    try:
        return msgspec.json.decode(data)
    except RecursionError:
        raise Unusable("the JSON nests too deep") from None
    except msgspec.DecodeError as error:
        # Python writes NaN and Infinity, which JSON does not have; the text around them is good.
        if b"NaN" in data or b"Infinity" in data:
            try:
                value = json.loads(data)
                msgspec.json.encode(value)  # raises where half of a surrogate pair slipped through
                return value
            except (ValueError, RecursionError):
                pass
        raise Unusable(_json_reason(str(error), data)) from None


def _json_reason(message: str, data: bytes) -> str:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return f"not UTF-8 (byte {error.start} of the line); was it cut or written in another encoding?"
    if b"\\ud" in data.lower() and "surrogate" in message.lower():
        return "half of a surrogate pair (\\ud8xx) in a text; the writer cut a character in two"
    line_bytes = len(data.rstrip(b"\r\n"))
    # A text that runs into the end of its line is cut off as well.
    if "truncated" in message or message.endswith(f"(byte {line_bytes})"):
        return "the JSON ends too early; the line was cut off"
    return f"not JSON ({message.removeprefix('JSON is ')[:120]})"


def unwrapped(record: JsonObject) -> list[JsonObject] | None:
    """The records of an API export such as ``{"data": [...]}``; ``None`` if it is none."""
    for key in _WRAPPERS:
        inner = record.get(key)
        if isinstance(inner, list) and inner and all(isinstance(item, dict) for item in inner):
            return inner
    return None


def best_other(record: JsonObject, own: type[Reader]) -> str | None:
    """Name of another format that the record surely has."""
    for name, reader in READERS.items():
        if reader is not own and reader.score(record) >= SURE:
            return name
    return None


def detect(records: Iterable[RawRecord]) -> str | None:
    """The format that most of the first records have; ``None`` if none is recognised."""
    totals = dict.fromkeys(READERS, 0.0)
    scored = size = 0
    for raw in records:
        size += len(raw.data or b"")
        for scores in _scores(raw):
            if any(scores.values()):
                scored += 1
                for name, score in scores.items():
                    totals[name] += score
        enough = scored >= _SAMPLE_RECORDS or (size > _SAMPLE_BYTES and scored >= _SAMPLE_MIN_RECORDS)
        if enough or size > _SAMPLE_MAX_BYTES:
            break
    best = max(totals, key=lambda name: totals[name])
    return best if totals[best] > 0 else None


def _scores(raw: RawRecord) -> Iterator[dict[str, float]]:
    try:
        record = decode_object(raw.data)
    except Unusable:
        text = (raw.data or b"")[:65536].decode("utf-8", "replace")
        yield {name: reader.score_text(text) for name, reader in READERS.items() if reader.is_text}
        return
    scores = {name: reader.score(record) for name, reader in READERS.items()}
    inner = None if any(scores.values()) else unwrapped(record)
    if inner is None:
        yield scores
        return
    for item in inner[:_SAMPLE_RECORDS]:
        yield {name: reader.score(item) for name, reader in READERS.items()}
