"""Block hashes: one 64-bit number per full block that stands for the whole prefix up to its end.

A prefix cache may serve a block only if everything before it is equal too, so a block's hash has
to cover its prefix. vLLM chains SHA-256, one call per block. Here the chain is a running sum: each
pair of token ids is mixed with its place in the prompt to 64 bits, and a block's hash is the sum of
them all up to its end. Running sums are one array operation, so no Python code runs per block.

**Odds.** Two different prefixes get equal hashes with a chance of about 2**-64, so any two of ``n``
distinct prefixes do with about ``n**2 / 2**65``: 8e-6 for 16 million blocks. This is no defence
against someone who wants a collision; a cache that serves strangers needs SHA-256, a model of one
does not.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from keepwarm._errors import InputError
from keepwarm.trace.prompt import TokenIds
from keepwarm.trace.records import HashedPrompt

BlockHashes = npt.NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2**64 / golden ratio, odd: keeps places apart
_WORD_MASK = (1 << 64) - 1
_NO_BLOCKS: BlockHashes = np.empty(0, dtype=np.uint64)
_NO_BLOCKS.setflags(write=False)


def block_hashes(
    ids: TokenIds,
    block_size: int,
    *,
    salt: str | None = None,
    lora: str | None = None,
    seed: str = "",
) -> BlockHashes:
    """Hash every full block of ``ids``: shape ``(len(ids) // block_size,)``, in prompt order.

    Entry ``i`` is equal for two calls exactly if (odds: see the module) their first
    ``(i + 1) * block_size`` token ids, ``block_size``, ``salt``, ``lora`` and ``seed`` are. vLLM puts
    the salt into block 0 and an adapter into every block; as the chain carries block 0 along, both
    come to the same here. ``seed`` is for whatever else separates caches, say the model's name.
    ``None`` and ``""`` differ. The values are the same in every run and on every platform.

    Raises:
        InputError: ``block_size`` is not positive, or ``ids`` is not one-dimensional.
    """
    _check_block_size(block_size)
    if ids.ndim != 1:
        raise InputError(f"token ids have shape {ids.shape!r}; pass one prompt, a flat array")
    full_blocks = len(ids) // block_size
    if full_blocks == 0:
        return _NO_BLOCKS
    words, words_per_block = _words(ids[: full_blocks * block_size], block_size)
    sums = _prefix_sums(words, _start("tokens", str(block_size), seed, lora, salt))
    return sums[words_per_block - 1 :: words_per_block].copy()  # a view would keep all sums alive


def hashed_prompt_blocks(prompt: HashedPrompt) -> BlockHashes:
    """Hashes of the full blocks of a prompt that was recorded as block ids.

    Only ``input_tokens // block_size`` blocks are full; an id beyond them names a part-block and is
    left out. Where fewer ids were recorded, only those are returned. Ids of the known formats
    already name a whole prefix; they are chained again, which changes nothing for them and is
    right for a file whose ids name a block's own content.

    Raises:
        InputError: ``block_size`` is not positive.
    """
    _check_block_size(prompt.block_size)
    full_blocks = max(0, prompt.input_tokens) // prompt.block_size
    ids = prompt.hash_ids[:full_blocks]
    if not ids:
        return _NO_BLOCKS
    try:
        words = np.array(ids, dtype=np.int64).astype(np.uint64)
    except OverflowError:
        words = np.array([_word(block_id) for block_id in ids], dtype=np.uint64)
    return _prefix_sums(words, _start("ids", str(prompt.block_size), prompt.scope))


def _word(block_id: int) -> int:
    """64 bits for an id of any length: its own where it has no more, signed; else a digest."""
    if -(1 << 63) <= block_id < 1 << 63:
        return block_id & _WORD_MASK
    return int.from_bytes(hashlib.blake2b(b"%x" % block_id, digest_size=8).digest(), "little")


def _check_block_size(block_size: int) -> None:
    if block_size < 1:
        raise InputError(f"block size {block_size!r} is not positive; give the server's, say 16")


def _words(ids: TokenIds, block_size: int) -> tuple[npt.NDArray[np.uint64], int]:
    """Token ids as 64-bit words, and how many make a block: two ids share one where the size is even."""
    if block_size % 2:
        return ids.astype(np.uint32).astype(np.uint64), block_size
    pairs = np.ascontiguousarray(ids, dtype="<i4").view("<u8")  # little-endian: same on all platforms
    return pairs.astype(np.uint64, copy=False), block_size // 2


@lru_cache(maxsize=256)  # most requests of a trace have the same
def _start(*parts: str | None) -> np.uint64:
    """A 64-bit number for what is equal over a whole prompt; no two tuples of parts read the same."""
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        encoded = b"" if part is None else part.encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % (-1 if part is None else len(encoded)) + encoded)
    return np.uint64(int.from_bytes(digest.digest(), "little"))


def _prefix_sums(words: npt.NDArray[np.uint64], start: np.uint64) -> npt.NDArray[np.uint64]:
    """Sum of mixed words up to each; wraps modulo 2**64 on purpose."""
    places = np.arange(1, len(words) + 1, dtype=np.uint64) * _GOLDEN
    sums = np.cumsum(_mix(words + places), dtype=np.uint64)
    sums += start
    return sums


def _mix(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """SplitMix64's output function, in place: a bijection in which every bit counts.

    Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014.
    """
    words ^= words >> np.uint64(30)
    words *= np.uint64(0xBF58476D1CE4E5B9)
    words ^= words >> np.uint64(27)
    words *= np.uint64(0x94D049BB133111EB)
    words ^= words >> np.uint64(31)
    return words
