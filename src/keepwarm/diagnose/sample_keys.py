"""What two requests have in common, told from their recorded content: nothing is rendered or tokenised.

A key of a prefix stands for everything up to its end, as a block hash does for tokens. Keys serve within one
process only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec
import numpy as np

from keepwarm.trace.blocks import adapter
from keepwarm.trace.hashes import BlockHashes, block_hashes, hashed_prompt_blocks
from keepwarm.trace.records import JsonObject, Request

_WORD_BYTES = 4
_KEY_BYTES = 128  # about two blocks of 16 tokens: chance hardly ever decides in between
_CARRIED_BYTES = 64  # shorter messages ("yes", "go on") return by chance and weigh nothing
_ENCODER = msgspec.json.Encoder()


class Content(NamedTuple):
    """A request's size, in bytes of its recorded content, and the keys of its prefixes, in prompt order."""

    size_bytes: int
    prefixes: BlockHashes


def content_of(request: Request) -> Content:
    """Size and prefix keys of a request: of its block ids, token ids, text, or tools and messages."""
    if request.hashed is not None:
        return Content(_WORD_BYTES * request.hashed.input_tokens, hashed_prompt_blocks(request.hashed))
    if request.prompt_token_ids is not None:
        ids = np.asarray(request.prompt_token_ids, dtype=np.int64).astype(np.int32)
        return Content(_WORD_BYTES * len(ids), _keys(request, ids))
    if request.prompt_text is not None:
        raw = request.prompt_text.encode("utf-8", "surrogatepass")
    else:
        tools = _ENCODER.encode(request.tools) if request.tools else b""
        raw = tools + _ENCODER.encode(request.messages)
    words = np.frombuffer(raw, dtype="<i4", count=len(raw) // _WORD_BYTES)
    return Content(len(raw), _keys(request, words))


def _keys(request: Request, words: np.ndarray[tuple[int], np.dtype[np.int32]]) -> BlockHashes:
    salt = request.params.get("cache_salt")
    return block_hashes(
        words,
        _KEY_BYTES // _WORD_BYTES,
        salt=None if salt is None else str(salt),
        lora=adapter(request.params),
        seed=request.model,
    )


def carried_keys(request: Request) -> Iterator[int]:
    """A key of each message that is long enough to matter where it returns at another place."""
    for message in request.messages:
        text = message.get("content")
        if not isinstance(text, str) or len(text) >= _CARRIED_BYTES:
            yield message_key(message)


def message_key(message: JsonObject) -> int:
    """Equal for messages of equal JSON."""
    text = message.get("content")
    if len(message) == 2 and isinstance(text, str):
        return hash((message.get("role"), text))
    return hash(_ENCODER.encode(message))
