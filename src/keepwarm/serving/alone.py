"""What a session would take if it had the server to itself: the measure of how much others slow it down."""

from __future__ import annotations

from functools import lru_cache

from keepwarm.policies.base import BlockHash
from keepwarm.serving.base import ServerConfig
from keepwarm.serving.costs import Coefficients, pairs_within
from keepwarm.serving.ledger import Ledger
from keepwarm.workload.base import SessionTrace


def alone_s(session: SessionTrace, config: ServerConfig, costs: Coefficients) -> float:
    """Summed request latencies on an empty server that loses nothing, answers never hit. Does not mutate."""
    cached: set[BlockHash] = set()
    total_s = 0.0
    for turn in session.turns:
        most_hits = (turn.prompt_tokens - 1) // config.block_size
        hit_blocks = 0
        for block in turn.blocks[:most_hits]:
            if block not in cached:
                break
            hit_blocks += 1
        cached.update(turn.blocks[hit_blocks:])
        total_s += prefill_s(turn.prompt_tokens, hit_blocks * config.block_size, config.step_tokens, costs)
        total_s += decode_s(turn.prompt_tokens, turn.output_tokens, costs)
    return total_s


def ledger_alone_s(ledger: Ledger, config: ServerConfig, costs: Coefficients) -> dict[int, float]:
    """``alone_s`` of each session that ended, by the number of its client. Does not mutate."""
    return {
        served.client.number: _alone_s(_Known(served.client.trace), config, costs)
        for served in ledger.served
        if served.client.next_turn is None and served.turn == served.client.sent - 1
    }


class _Known:
    """A session by its identity: its completion alone is the same in every run of a grid."""

    def __init__(self, trace: SessionTrace) -> None:
        self.trace = trace

    def __hash__(self) -> int:
        return id(self.trace.turns)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Known) and other.trace.turns is self.trace.turns


@lru_cache(maxsize=4096)
def _alone_s(known: _Known, config: ServerConfig, costs: Coefficients) -> float:
    return alone_s(known.trace, config, costs)


def prefill_s(prompt_tokens: int, computed_tokens: int, step_tokens: int, costs: Coefficients) -> float:
    """Seconds until the first token of the only request there is, ``computed_tokens`` of it being cached."""
    total_s = 0.0
    while computed_tokens < prompt_tokens:
        chunk = min(step_tokens, prompt_tokens - computed_tokens)
        pairs = chunk * computed_tokens + pairs_within(chunk)
        computed_tokens += chunk
        total_s += costs.step_s(chunk, pairs, computed_tokens)
    return total_s


def decode_s(prompt_tokens: int, output_tokens: int, costs: Coefficients) -> float:
    """Seconds from its first token to its last."""
    return sum(
        costs.step_s(1, context_tokens, context_tokens)
        for context_tokens in range(prompt_tokens + 1, prompt_tokens + output_tokens)
    )
