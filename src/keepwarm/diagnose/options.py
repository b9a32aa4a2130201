"""What the caller of ``diagnose`` chooses."""

from __future__ import annotations

import msgspec

from keepwarm._checks import MOST_BLOCK_TOKENS, check_count, check_seconds


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How to read, render and simulate a trace. Raises InputError: a number that is none of its kind."""

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
