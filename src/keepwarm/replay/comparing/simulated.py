"""A run's requests through keepwarm's model of the cache, held against what the server did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from keepwarm._errors import InputError
from keepwarm.cache.replay import CacheRequest, replay
from keepwarm.policies import POLICIES
from keepwarm.replay.comparing.comparison import Differing, SimulatedRun
from keepwarm.replay.measuring.plan import read_requests, sent_blocks
from keepwarm.replay.measuring.record import Row, Run
from keepwarm.trace.encode import choose_encoder
from keepwarm.trace.open import open_trace
from keepwarm.trace.records import Request

SERVER_TOKENS = "server"
_MOST_DIFFERING = 20
_POLICIES = {"boundary": "computecache", "window": "computecache-window"}


class Encoding(NamedTuple):
    """Whose tokens to simulate with, besides the server's."""

    tokenizer: str
    chat_template: str | None


def simulate_run(run: Run, rows: Sequence[Row], encoding: Encoding | None) -> tuple[SimulatedRun, ...]:
    """With the server's own tokens, and with ``encoding``'s if one is given.

    Raises InputError: the trace is not where it was, or is not the one that was replayed.
    """
    answered = [row for row in rows if row.status == "ok"]
    found = [_simulated(run, answered, [_as_counted(row) for row in answered], SERVER_TOKENS)]
    if encoding is not None:
        found.append(_simulated(run, answered, _encoded(run, answered, encoding), encoding.tokenizer))
    return tuple(found)


def _as_counted(row: Row) -> CacheRequest:
    return _request(row, np.array(row.blocks, dtype=np.uint64), row.prompt_tokens or 0)


def _request(row: Row, blocks: np.ndarray, prompt_tokens: int) -> CacheRequest:
    return CacheRequest(blocks, prompt_tokens, row.output_tokens or 0, row.skip_reads)


def _simulated(
    run: Run, rows: Sequence[Row], requests: Sequence[CacheRequest], tokens_of: str
) -> SimulatedRun:
    server = run.server
    policy = _POLICIES.get(server.rule or "", "computecache") if server.mode == "active" else "lru"
    done = replay(
        requests,
        block_size=server.block_size,
        capacity_blocks=server.capacity_blocks,
        policy=POLICIES[policy],
    )
    pairs = [(row, row.cached_tokens or 0, each.hit_tokens) for row, each in zip(rows, done, strict=True)]
    other = sorted((pair for pair in pairs if pair[1] != pair[2]), key=lambda pair: -abs(pair[1] - pair[2]))
    measured = _rate(sum(pair[1] for pair in pairs), sum(row.prompt_tokens or 0 for row in rows))
    simulated = _rate(sum(pair[2] for pair in pairs), sum(request.prompt_tokens for request in requests))
    return SimulatedRun(
        tokens_of=tokens_of,
        policy=policy,
        requests=len(rows),
        measured_hit_rate=measured,
        simulated_hit_rate=simulated,
        residual_points=100 * (measured - simulated),
        equal_requests=len(pairs) - len(other),
        other_lengths=sum(
            row.prompt_tokens != request.prompt_tokens for row, request in zip(rows, requests, strict=True)
        ),
        differing=tuple(
            Differing(id=row.id, measured_tokens=measured_tokens, simulated_tokens=simulated_tokens)
            for row, measured_tokens, simulated_tokens in other[:_MOST_DIFFERING]
        ),
    )


def _encoded(run: Run, rows: Sequence[Row], encoding: Encoding) -> list[CacheRequest]:
    trace = open_trace(run.input.path, run.input.format)
    if trace.sha256 != run.input.sha256:
        raise InputError(
            f"{run.input.path!r} is not the trace that run {run.label!r} sent (SHA-256 {run.input.sha256}); "
            "put that one back, or leave --tokenizer out"
        )
    requests = read_requests(trace, run.conditions.limit)
    encoder = choose_encoder(
        trace.path, requests[0], tokenizer=encoding.tokenizer, chat_template=encoding.chat_template
    )
    made = []
    for row in rows:
        request = _as_sent(requests[row.index])
        ids = encoder.ids(request)
        blocks = sent_blocks(ids, request, run.server.block_size)
        made.append(_request(row, blocks, len(ids)))
    return made


def _as_sent(request: Request) -> Request:
    """A chat is sent as messages, whatever ids another server made of it."""
    return msgspec.structs.replace(request, prompt_token_ids=None) if request.messages else request


def _rate(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
