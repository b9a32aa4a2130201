"""Sizes in tokens from the server's own limits: nothing that is sent can be refused as too long."""

from __future__ import annotations

from typing import NamedTuple

from keepwarm._errors import ServerError
from keepwarm.canary.pressure.options import PressureOptions
from keepwarm.policies.computecache import PROTECTED_SHARE
from keepwarm.server.metrics import CacheConfig

# Fresh for each hot request. With the output it stays below one block of 16, so it leaves no block behind.
TAIL_TOKENS = 8
FLOOD_OUTPUT_TOKENS = 1


class Sizes(NamedTuple):
    """Token counts of the prompts; each with its output fits the model and the pool."""

    hot_tokens: int
    flood_tokens: int


def sizes_for(max_model_len: int, cache: CacheConfig, options: PressureOptions) -> Sizes:
    """The sizes asked for, or the default ones.

    A hot prefix is as many whole blocks as ComputeCache may protect, a flood prompt about as long as the
    model allows. Raises ServerError: the server's limits leave no room.
    """
    pool_tokens = cache.capacity_blocks * cache.block_size
    longest = min(max_model_len, pool_tokens)
    room = _Room(max_model_len, pool_tokens)
    most_hot = longest - TAIL_TOKENS - options.output_tokens
    if options.hot_tokens is None:
        blocks = min(int(PROTECTED_SHARE * cache.capacity_blocks), most_hot // cache.block_size)
        hot_tokens = blocks * cache.block_size
    else:
        hot_tokens = options.hot_tokens
    room.check("hot prefix", hot_tokens, least=cache.block_size, most=most_hot)
    most_flood = longest - FLOOD_OUTPUT_TOKENS
    flood_tokens = most_flood if options.flood_tokens is None else options.flood_tokens
    room.check("flood prompt", flood_tokens, least=cache.block_size, most=most_flood)
    return Sizes(hot_tokens, flood_tokens)


class _Room(NamedTuple):
    """The limits, for the line that says why there is no room."""

    max_model_len: int
    pool_tokens: int

    def check(self, what: str, tokens: int, *, least: int, most: int) -> None:
        if least <= tokens <= most:
            return
        limits = f"max_model_len {self.max_model_len}, {self.pool_tokens} tokens in the cache"
        if most < least:
            raise ServerError(
                f"the server's limits ({limits}) leave no room for a {what} of one block, {least} tokens; "
                "start it with a larger --max-model-len or more blocks"
            )
        raise ServerError(
            f"a {what} of {tokens} tokens does not fit the server ({limits}); give from {least} to {most}"
        )
