"""What the caller of a cache simulation chooses."""

from __future__ import annotations

import msgspec

from keepwarm._checks import MOST_BLOCK_TOKENS, check_count


class TraceOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to read and render a trace. Raises InputError: a block size that none has."""

    format: str = "auto"  # a reader's name, or detected from the content
    tokenizer: str | None = None  # folder, Hugging Face name or server URL; None: the built-in one
    chat_template: str | None = None  # path of a Jinja file; None: the tokenizer's own
    block_size: int | None = (
        None  # tokens; None: the record's ``engine``, else 16; hash-only traces have theirs
    )

    def __post_init__(self) -> None:
        check_count("block_size", self.block_size, most=MOST_BLOCK_TOKENS)


class ServerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The server whose memory decides the capacity. Without GPU and memory only the model's shape is used."""

    model_config: str  # path of a model's ``config.json``, or its folder
    gpu: str | None = None  # a name such as H100
    gpu_memory_gib: float | None = None  # one GPU's, as its driver tells it; takes the place of ``gpu``'s
    tensor_parallel: int = 1
    kv_cache_dtype: str = "auto"
    gpu_memory_utilization: float | None = None  # None: vLLM's default
    weights_gib: float | None = None  # of the whole model; None: from its configuration or files
    overhead_gib: float | None = None  # of one GPU; None: an allowance


class SimulateOptions(TraceOptions, frozen=True, kw_only=True):
    """A table of policies and capacities, and how the cache serves requests.

    Raises InputError: a number that is none of its kind.
    """

    policies: tuple[str, ...] = ()  # names; empty: lru, computecache, belady
    capacities_blocks: tuple[int, ...] = ()  # usable blocks; empty: doubling, from the largest request on
    ignore_output: bool = False  # leave out the blocks that decoding fills
    match_unit_tokens: int | None = None  # a hit is a whole number of these; None: one block
    server: ServerOptions | None = None  # adds the capacity it would have
    kv_events: str | None = None  # path of a recording of vLLM's KV events to compare with
    curve: bool = False  # hit rate against capacity, with sizes that near the ceiling
    sample: float | None = None  # follow this share of the blocks: LRU's curve estimated, in place of rows
    threads: int | None = None  # None: one for each core this process may use
    store: bool = True  # keep the interned trace for the next run

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("match_unit_tokens", self.match_unit_tokens)
        check_count("threads", self.threads)
