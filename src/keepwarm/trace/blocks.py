"""A request as the prefix cache sees it: the hashes of its blocks, and what keeps it apart from others."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np

from keepwarm._errors import InputError
from keepwarm.trace.encode import PromptEncoder
from keepwarm.trace.hashes import BlockHashes, block_hashes, hashed_prompt_blocks
from keepwarm.trace.prompt import TokenIds
from keepwarm.trace.records import HashedPrompt, Request

ADAPTER_PARAMS = ("lora_name", "lora_request", "lora", "adapter", "adapter_id")
DEFAULT_BLOCK_SIZE = 16
# Far above any model's context: more is a damaged record, and would take all memory.
_MOST_TOKENS = 1 << 28


class Encoded(msgspec.Struct, frozen=True):
    """A prompt as block hashes and its length."""

    blocks: BlockHashes
    prompt_tokens: int


def packed(encoded: Encoded) -> bytes:
    """As bytes: eight of the length, eight of each hash."""
    return encoded.prompt_tokens.to_bytes(8, "little") + encoded.blocks.astype("<u8").tobytes()


def unpacked(raw: bytes) -> Encoded:
    """What ``packed`` made bytes of; the hashes are a view into them."""
    return Encoded(np.frombuffer(raw, dtype="<u8", offset=8), int.from_bytes(raw[:8], "little"))


def encoded_request(request: Request, encoder: PromptEncoder, block_size: int) -> Encoded:
    """Hashes of a request: of its recorded block ids, else of its tokens. Raises what ``encoder`` does."""
    if request.hashed is not None:
        return encoded_hashes(request.hashed)
    return encoded_ids(request, encoder.ids(request), block_size)


def encoded_hashes(prompt: HashedPrompt) -> Encoded:
    """Hashes of a prompt that was recorded as block ids."""
    return Encoded(hashed_prompt_blocks(prompt), prompt.input_tokens)


def encoded_ids(request: Request, ids: TokenIds, block_size: int) -> Encoded:
    """Hashes of ``ids`` under the model, adapter and salt of ``request``.

    Where prompt and answer are recorded as tokens, the answer's blocks follow: decoding
    caches them too.
    """
    prompt_tokens = len(ids)
    if request.prompt_token_ids is not None and request.answer_token_ids:
        ids = np.concatenate([ids, np.asarray(request.answer_token_ids, dtype=np.int32)])
    salt = request.params.get("cache_salt")
    blocks = block_hashes(
        ids,
        block_size,
        salt=None if salt is None else str(salt),
        lora=adapter(request.params),
        seed=request.model,
    )
    return Encoded(blocks, prompt_tokens)


def output_tokens(request: Request) -> int:
    """Tokens the model wrote, 0 where not recorded."""
    if request.answer_token_ids is not None:
        return len(request.answer_token_ids)
    return request.usage.output_tokens or 0


def read_skipping_param(params: Mapping[str, object], *, is_chat: bool) -> str | None:
    """The parameter that makes the engine compute the whole prompt, if there is one.

    vLLM does so to return log-probabilities of the prompt: where they are asked for, be it 0 of them or
    ``false``, which it reads as 0, or where ``echo`` gives the prompt back with those of the answer, which
    a chat always has and a completion has if ``logprobs`` is set (``vllm/entrypoints/openai/*/protocol.py``).
    """
    if params.get("prompt_logprobs") is not None:
        return "prompt_logprobs"
    if params.get("echo") is True and (is_chat or params.get("logprobs") is not None):
        return "echo"
    return None


def adapter(params: Mapping[str, object]) -> str | None:
    """The LoRA adapter a request names apart from its model."""
    for key in ADAPTER_PARAMS:
        value = params.get(key)
        if value:
            return str(value)
    return None


def check_tokens(place: str, request: Request) -> None:
    """Raises InputError: no model takes as many tokens as one request records. ``place`` is the file."""
    tokens = output_tokens(request) + (0 if request.hashed is None else request.hashed.input_tokens)
    if tokens > _MOST_TOKENS:
        raise InputError(
            f"{place} line {request.line}: {tokens} tokens in one request, more than any model takes; "
            "correct the record, or take it out"
        )


def block_size_of(first: Request | None, wanted: int | None) -> int:
    """A hash-only trace brings its own; else the one ``wanted``, the recorded engine's, or the usual one."""
    if first is not None and first.hashed is not None:
        return first.hashed.block_size
    recorded = first.block_size if first is not None else None
    return wanted or recorded or DEFAULT_BLOCK_SIZE
