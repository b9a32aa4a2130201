"""Hash-only traces of the Mooncake project."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from keepwarm.trace.readers.base import CERTAIN, Reader, Unusable
from keepwarm.trace.readers.chat import kind
from keepwarm.trace.readers.fields import as_count, as_duration, as_text
from keepwarm.trace.records import HashedPrompt, JsonObject, Request, Usage

BLOCK_SIZE_TOKENS = 512


class MooncakeReader(Reader):
    """Hash-only traces in the form the Mooncake project published: no text, no sessions.

    A line holds `timestamp` (milliseconds since the start), `input_length`, `output_length` (tokens)
    and `hash_ids`, global ids of blocks of 512 tokens (or of the record's `block_size`).
    """

    name = "mooncake"
    prompt_texts_known = False
    prompt_complete = False
    sessions_known = False

    @staticmethod
    def score(record: JsonObject) -> float:
        """By `hash_ids` and `input_length` without a chat."""
        has_hashes = "hash_ids" in record and "input_length" in record
        return CERTAIN if has_hashes and "chat_id" not in record else 0.0

    def read(self, record: JsonObject, line: int) -> Iterable[Request]:
        """One request per line."""
        milliseconds = as_duration(record.get("timestamp"))
        request = Request(
            line=line,
            id=as_text(record.get("id")) or f"line-{line}",
            time_s=None if milliseconds is None else milliseconds / 1000,
            hashed=hashed_prompt(record, BLOCK_SIZE_TOKENS),
            usage=hashed_usage(record),
        )
        return (request,)


def hashed_prompt(
    record: JsonObject, block_size: int, *, length_key: str = "input_length", scope: str | None = None
) -> HashedPrompt:
    """Block ids and length of a hash-only record; raises Unusable."""
    input_tokens = as_count(record.get(length_key))
    if input_tokens is None:
        raise Unusable(f"{length_key} is {_shown(record.get(length_key))}; a number of tokens is expected")
    hash_ids = record.get("hash_ids")
    if not isinstance(hash_ids, list):
        raise Unusable(f"hash_ids is {kind(hash_ids)}; a list is expected")
    if not set(map(type, hash_ids)) <= {int}:
        raise Unusable("hash_ids holds something else than whole numbers")
    size = as_count(record.get("block_size")) or block_size
    if len(hash_ids) > -(-input_tokens // size):
        raise Unusable(f"{len(hash_ids)} hash_ids of {size} tokens do not fit {length_key} {input_tokens}")
    return HashedPrompt(hash_ids=hash_ids, block_size=size, input_tokens=input_tokens, scope=scope)


def hashed_usage(record: JsonObject) -> Usage:
    """Lengths of a record with ``input_length`` and ``output_length``."""
    return Usage(
        prompt_tokens=as_count(record.get("input_length")),
        output_tokens=as_count(record.get("output_length")),
    )


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, int | float) else kind(value)
