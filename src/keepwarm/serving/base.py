"""What a modelled server is given and what it tells: its limits, requests, steps and counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, NewType

from keepwarm._errors import InputError
from keepwarm.policies.base import BlockHash, BlockId
from keepwarm.policies.sessions import SessionId
from keepwarm.scheduling.base import Ticket

RequestId = NewType("RequestId", str)


class ServerRequest(NamedTuple):
    """A request as the server's scheduler sees it.

    ``blocks`` are the hashes of its known full blocks from the first token on: those of the prompt and,
    where the answer's tokens are known, of the answer. Full blocks beyond them take space and no other
    request hits them. ``output_tokens`` is how long the answer gets unless the server's limit ends it
    earlier. ``skip_reads``: its blocks are stored but not looked up (``prompt_logprobs``). ``session`` is
    whose it is.
    """

    id: RequestId
    prompt_tokens: int
    output_tokens: int
    blocks: Sequence[BlockHash]
    skip_reads: bool = False
    session: SessionId = SessionId("")


class ServerConfig(NamedTuple):
    """The limits of one server. In brackets: the setting of vLLM each one stands for.

    ``capacity_blocks`` are usable blocks, the null block not among them. ``watermark`` is the share of the
    whole cache (null block included) that must stay free when a request joins others that run.
    ``long_prefill_tokens`` caps a chunk while other requests are there; 0 is no cap.
    """

    block_size: int
    capacity_blocks: int  # num_gpu_blocks - 1
    max_request_tokens: int  # max_model_len
    max_running_requests: int = 128  # max_num_seqs
    step_tokens: int = 2048  # max_num_batched_tokens
    long_prefill_tokens: int = 0  # long_prefill_token_threshold
    watermark: float = 0.0  # watermark

    def check(self) -> None:
        """Raise InputError for the first limit that no server could have."""
        for name in (
            "block_size",
            "capacity_blocks",
            "max_request_tokens",
            "max_running_requests",
            "step_tokens",
        ):
            value = getattr(self, name)
            if value < 1:
                raise InputError(f"{name} is {value!r}; give at least 1")
        if self.long_prefill_tokens < 0:
            raise InputError(f"long_prefill_tokens is {self.long_prefill_tokens!r}; give 0 for no cap")
        if not 0 <= self.watermark < 1:
            raise InputError(f"watermark is {self.watermark!r}; give a share of the cache in [0, 1)")

    @property
    def watermark_blocks(self) -> int:
        """Blocks that must stay free when a request joins others that run."""
        return int(self.watermark * (self.capacity_blocks + 1))


@dataclass(slots=True, eq=False, kw_only=True)
class RequestState(Ticket):
    """How far a request got.

    ``known_tokens`` are prompt and answer so far; the KV of ``computed_tokens`` of them exists. ``blocks``
    are the hashes of all full blocks it will ever have; ``table`` are the blocks it holds, in prompt order,
    the first ``cached_blocks`` of them with their hash.
    """

    lookup_blocks: Sequence[BlockHash]
    request: ServerRequest
    blocks: Sequence[BlockHash]
    known_tokens: int
    final_tokens: int  # known tokens when it ends
    computed_tokens: int = 0
    cached_blocks: int = 0
    preemptions: int = 0
    prefills: bool = False  # it runs, and has not computed all that it knew when it was admitted
    table: list[BlockId] = field(default_factory=list)


@dataclass(slots=True)
class StepResult:
    """What one step did, each list in the order in which it happened.

    ``scheduled``: tokens computed per request, in batch order. ``hit_tokens``: of each request admitted,
    be it again after a preemption; of them, ``reloaded_tokens`` were read from elsewhere. ``evicted``: hashes
    that had to go. ``preempted`` and ``finished``: requests that lost their blocks and that ended.
    """

    scheduled: dict[RequestId, int] = field(default_factory=dict)
    hit_tokens: dict[RequestId, int] = field(default_factory=dict)
    reloaded_tokens: dict[RequestId, int] = field(default_factory=dict)
    evicted: list[BlockHash] = field(default_factory=list)
    preempted: list[RequestId] = field(default_factory=list)
    finished: list[RequestId] = field(default_factory=list)


@dataclass(slots=True)
class LookupCounts:
    """What the server's metrics say about its prefix cache; look-ups of preempted requests apart."""

    requests: int = 0
    query_tokens: int = 0
    hit_tokens: int = 0
    resumed_requests: int = 0
    resumed_query_tokens: int = 0
    resumed_hit_tokens: int = 0

    def count(self, state: RequestState, hit_tokens: int) -> None:
        """One admission: all tokens known by then were asked for."""
        if state.preemptions:
            self.resumed_requests += 1
            self.resumed_query_tokens += state.known_tokens
            self.resumed_hit_tokens += hit_tokens
        else:
            self.requests += 1
            self.query_tokens += state.known_tokens
            self.hit_tokens += hit_tokens
