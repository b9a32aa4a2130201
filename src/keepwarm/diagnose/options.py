"""What the caller of ``diagnose`` chooses."""

from __future__ import annotations

import msgspec

from keepwarm._checks import MOST_BLOCK_TOKENS, check_count, check_seconds
from keepwarm._errors import InputError


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How to read, render and simulate a trace.

    Raises InputError: a number that is none of its kind, or a sample of which no error could be stated.
    """

    format: str = "auto"  # a reader's name, or detected from the content
    tokenizer: str | None = None  # folder, Hugging Face name or server URL; None: the built-in one
    chat_template: str | None = None  # path of a Jinja file; None: the tokenizer's own
    block_size: int | None = None  # None: the record's ``engine``, else 16
    capacity_blocks: int | None = None  # usable blocks; None: unbounded
    ttl_s: float | None = None  # a provider's time to live, if the user knows it
    sample: float | None = None  # share of the sessions to diagnose; None: all, and nothing is estimated

    def __post_init__(self) -> None:
        check_count("block_size", self.block_size, most=MOST_BLOCK_TOKENS)
        check_count("capacity_blocks", self.capacity_blocks)
        check_seconds("ttl_s", self.ttl_s)
        if self.sample is None:
            return
        if not 0 < self.sample <= 1:
            raise InputError(
                f"sample {self.sample!r} is not above 0 and at most 1; write 0.01 for 1% of the sessions"
            )
        if self.capacity_blocks is not None:
            raise InputError(
                "a sample with a capacity (--capacity-blocks) has no error that could be stated: what is "
                "evicted depends on every request; leave one of them out, or see 'keepwarm simulate cache "
                "--sample' for hit rates"
            )
