"""Hash-only traces of Alibaba's Bailian platform."""

from __future__ import annotations

from collections.abc import Iterable

from keepwarm.trace.readers.base import CERTAIN, Reader
from keepwarm.trace.readers.fields import as_seconds, as_text
from keepwarm.trace.readers.mooncake import hashed_prompt, hashed_usage
from keepwarm.trace.records import JsonObject, Request

BLOCK_SIZE_TOKENS = 16


class BailianReader(Reader):
    """Hash-only traces in the form Alibaba published for its Bailian platform: no text.

    A line holds `chat_id`, `parent_chat_id` (-1 for the first turn; following it gives the session),
    `timestamp` (seconds since the start), `input_length`, `output_length` (tokens) and `hash_ids`, global
    ids of blocks of 16 tokens (or of the record's `block_size`).
    """

    name = "bailian"
    prompt_texts_known = False
    prompt_complete = False

    def __init__(self) -> None:
        self._roots: dict[str, str] = {}

    @staticmethod
    def score(record: JsonObject) -> float:
        """By `hash_ids` of a chat."""
        return CERTAIN if "hash_ids" in record and "chat_id" in record else 0.0

    def read(self, record: JsonObject, line: int) -> Iterable[Request]:
        """One request per line; remembers to which session its chat belongs."""
        hashed = hashed_prompt(record, BLOCK_SIZE_TOKENS)
        chat = as_text(record.get("chat_id")) or f"line-{line}"
        parent = as_text(record.get("parent_chat_id"))
        root = chat if parent is None or parent.startswith("-") else self._roots.get(parent, parent)
        self._roots[chat] = root
        request = Request(
            line=line,
            id=chat,
            time_s=as_seconds(record.get("timestamp")),
            session=root,
            hashed=hashed,
            usage=hashed_usage(record),
        )
        return (request,)
