"""A trace as flat arrays: blocks interned to dense ids, numbered in order of first appearance.

What the kernel, the curves and the samplers read. Dense ids make every per-content table a flat
array; ids of known blocks run from 0 to ``distinct_blocks - 1``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

PIECE_BLOCKS = 1 << 22
"""Blocks looked at in one go where that bounds memory: some tenths of a second of a replay."""


class DenseTrace(NamedTuple):
    """Requests in replay order. Request ``i`` has the blocks ``ids[starts[i]:starts[i + 1]]``.

    Those are its known full blocks from the first token on: the prompt's and, where the answer is recorded as
    tokens, the answer's. Hashes are chained, so an id stands for a whole prefix: it is always at
    the same place of a request and always behind the same id. Arrays are read-only; shapes: ``starts``
    requests + 1, ``ids`` all blocks, the rest one entry a request.
    """

    block_size: int
    distinct_blocks: int
    starts: npt.NDArray[np.int64]
    ids: npt.NDArray[np.int32]
    prompt_tokens: npt.NDArray[np.int64]
    output_tokens: npt.NDArray[np.int64]  # the answer, its last token included; 0 where not recorded
    skip_reads: npt.NDArray[np.bool_]  # the engine stores its blocks but does not look them up
    time_s: npt.NDArray[np.float64]  # NaN where not recorded
    cached_tokens: npt.NDArray[np.int64]  # recorded hits; -1 where not recorded

    @property
    def requests(self) -> int:
        """Number of requests."""
        return len(self.prompt_tokens)

    @property
    def query_tokens(self) -> int:
        """Tokens of all prompts."""
        return int(self.prompt_tokens.sum())

    @property
    def largest_prompt_blocks(self) -> int:
        """Blocks that the longest prompt takes, the part-block at its end included; 0 without requests."""
        return -(-int(self.prompt_tokens.max(initial=0)) // self.block_size)

    def pieces(self) -> list[int]:
        """Bounds of runs of requests, 0 and ``requests`` included, with some ``PIECE_BLOCKS`` blocks each."""
        marks = np.arange(PIECE_BLOCKS, len(self.ids), PIECE_BLOCKS)
        return sorted({0, *np.searchsorted(self.starts, marks).tolist(), self.requests})

    def computed_tokens(self, *, ignore_output: bool = False) -> npt.NDArray[np.int64]:
        """Tokens of each request whose KV exists in the end: all but the last sampled one."""
        if ignore_output:
            return self.prompt_tokens
        return self.prompt_tokens + np.maximum(self.output_tokens - 1, 0)

    def most_hit_blocks(self) -> npt.NDArray[np.int64]:
        """Blocks each request can hit: never that of its prompt's last token, none if it skips reads."""
        return np.where(self.skip_reads, 0, np.maximum(self.prompt_tokens - 1, 0) // self.block_size)
