"""An assumption about traces whose block ids are local: equal tools and system texts are one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from keepwarm.policies.sessions import SessionId
from keepwarm.trace.hashes import hashed_prompt_blocks
from keepwarm.trace.records import HashedPrompt

Blocks = npt.NDArray[np.uint64]


class SharedHeads:
    """Names the blocks of tools and system text alike in all sessions that have as many tokens of both.

    A session's head is that of its first request to a model; a later request shares as much of it as it has
    in common with that one.
    """

    def __init__(self) -> None:
        self._own: dict[tuple[SessionId, str], Blocks] = {}

    def shared(self, session: SessionId, model: str, prompt: HashedPrompt, blocks: Blocks) -> Blocks:
        """``blocks`` of ``prompt``, those of its head under their shared names. Mutates; O(blocks)."""
        if prompt.tool_tokens is None or prompt.system_tokens is None:
            return blocks
        head_blocks = (prompt.tool_tokens + prompt.system_tokens) // prompt.block_size
        own = self._own.setdefault((session, model), blocks[:head_blocks])
        most = min(len(own), len(blocks))
        differs = np.flatnonzero(own[:most] != blocks[:most])
        common = int(differs[0]) if len(differs) else most
        scope = f"head of {prompt.tool_tokens} + {prompt.system_tokens} tokens for {model}"
        names = HashedPrompt(
            hash_ids=list(range(common)),
            block_size=prompt.block_size,
            input_tokens=common * prompt.block_size,
            scope=scope,
        )
        return np.concatenate([hashed_prompt_blocks(names), blocks[common:]])
