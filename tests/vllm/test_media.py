"""Semantic 1 for pictures: they enter a block's hash by content and offset.

vLLM gives a medium placeholder tokens that are all alike and puts its content into the hash of each block
they touch. keepwarm prints the content into the prompt instead. What matters is which blocks of two requests
are the same, so that is compared, with vLLM's own hasher.
"""

from __future__ import annotations

import base64
import hashlib
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pytest
from vllm.multimodal.inputs import MultiModalFeatureSpec, PlaceholderRange
from vllm.sampling_params import SamplingParams
from vllm.utils.hashing import sha256_cbor
from vllm.v1.core.kv_cache_utils import get_request_block_hasher
from vllm.v1.request import Request

from keepwarm.trace.encode import PromptEncoder, open_encoder
from keepwarm.trace.hashes import block_hashes
from keepwarm.trace.records import Request as Recorded
from tests.vllm import real  # noqa: F401 - readies vLLM's hashing

BLOCK = 16
PLACEHOLDER = 1 << 20  # no token of the tokenizer
PATH = "messages[0].content[1].image_url.url"


class Hashed(NamedTuple):
    """One prompt's blocks: by the ids as printed, by ids made of the content, and by vLLM."""

    printed: list[int]
    by_content: list[int]
    theirs: list[bytes]


@pytest.fixture(scope="module")
def encoder() -> PromptEncoder:
    return open_encoder()


def hashed(encoder: PromptEncoder, before: str, picture: bytes, after: str) -> Hashed:
    url = "data:image/png;base64," + base64.b64encode(picture).decode()
    parts = [
        {"type": "text", "text": before},
        {"type": "image_url", "image_url": {"url": url}},
        {"type": "text", "text": after},
    ]
    prompt = encoder.prompt(Recorded(line=1, id="r", messages=[{"role": "user", "content": parts}]))
    (span,) = (span for span in prompt.rendered.spans if span.path == PATH)
    inside = np.flatnonzero((prompt.char_starts >= span.start) & (prompt.char_starts < span.end))
    content = hashlib.sha256(picture)
    replaced = prompt.ids.copy()
    replaced[inside] = int.from_bytes(content.digest()[:3], "little")
    by_content = block_hashes(replaced, BLOCK).tolist()
    replaced[inside] = PLACEHOLDER
    position = PlaceholderRange(offset=int(inside[0]), length=len(inside))
    request = Request(
        request_id="r",
        prompt_token_ids=replaced.tolist(),
        sampling_params=SamplingParams(max_tokens=1),
        pooling_params=None,
        mm_features=[MultiModalFeatureSpec(None, "image", content.hexdigest(), position)],
        block_hasher=get_request_block_hasher(BLOCK, sha256_cbor),
    )
    return Hashed(block_hashes(prompt.ids, BLOCK).tolist(), by_content, list(request.block_hashes))


def shared_blocks(some: list[int] | list[bytes], others: list[int] | list[bytes]) -> int:
    same = [one == other for one, other in zip(some, others, strict=False)]
    return same.index(False) if False in same else len(same)


@pytest.mark.parametrize("words", range(BLOCK))
def test_semantic_01_media_enter_by_content_and_offset(encoder: PromptEncoder, words: int) -> None:
    before = "Look at this picture: " + "and " * words
    prompts = [
        hashed(encoder, before, b"one picture", "What is it?" * 20),
        hashed(encoder, before, b"one picture", "Who made it?" * 20),
        hashed(encoder, before, b"another picture", "What is it?" * 20),
        hashed(encoder, before + "now ", b"one picture", "What is it?" * 20),
    ]
    for one, other in combinations(prompts, 2):
        theirs = shared_blocks(one.theirs, other.theirs)
        assert shared_blocks(one.by_content, other.by_content) == theirs
        # The printed mark starts alike for all media: the block in which it starts may look shared.
        assert shared_blocks(one.printed, other.printed) - theirs in (0, 1)
