"""Recorded traffic as token ids, with arrival times, for both sides.

The helpdesk traffic has text and is encoded by keepwarm. Mooncake's and the agent sessions name blocks only:
each id becomes as many made-up tokens as ``block_size`` says, the same ones each time, and lengths shrink
in proportion, so that 512 recorded tokens may be 16 here. Answers of those are made up too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from keepwarm.trace.encode import choose_encoder
from keepwarm.trace.open import open_trace
from keepwarm.trace.records import HashedPrompt
from keepwarm.trace.tokens import load_tokenizer
from tests.vllm.lockstep import Lockstep
from tests.vllm.real import Call


class Arrival(NamedTuple):
    """When a request arrives, and what makes it: not all prompts of a trace fit into memory at once."""

    time_s: float
    make: Callable[[], Call]


def helpdesk(path: Path) -> Iterator[Arrival]:
    """Prompts in the built-in template, answers as they were recorded."""
    trace, tokenizer = open_trace(path), load_tokenizer(None)
    encoder = choose_encoder(path, None, tokenizer=None, chat_template=None)
    for request in trace.requests():
        answer = request.answer or {}
        text = answer.get("content") or json.dumps(answer)
        ids = tokenizer.encode(text).ids.tolist()
        yield Arrival(request.time_s or 0.0, partial(Call, request.id, encoder.ids(request).tolist(), ids))


def hash_only(path: Path, *, block_size: int, most: int | None = None) -> Iterator[Arrival]:
    """The first ``most`` requests of a trace that names blocks only, one id as ``block_size`` tokens."""
    scopes: dict[str | None, int] = {}
    for index, request in enumerate(islice(open_trace(path).requests(), most)):
        hashed = request.hashed
        assert hashed is not None
        scope = scopes.setdefault(hashed.scope, len(scopes))
        output = max(1, (request.usage.output_tokens or 1) * block_size // hashed.block_size)
        make = partial(_made_up, f"{index}", hashed, scope, block_size, [3 + index % 1000] * output)
        yield Arrival(request.time_s or 0.0, make)


def _made_up(name: str, hashed: HashedPrompt, scope: int, block_size: int, output: list[int]) -> Call:
    return Call(name, _tokens(hashed, scope, block_size), output)


def _tokens(hashed: HashedPrompt, scope: int, block_size: int) -> list[int]:
    tokens: list[int] = []
    for block_id in hashed.hash_ids:
        tokens += [block_id & 0x7FFFFFFF, scope, *range(block_size - 2)]
    return tokens[: max(1, hashed.input_tokens * block_size // hashed.block_size)]


def play(both: Lockstep, arrivals: Iterable[Arrival], *, step_s: float) -> Lockstep:
    """Requests arrive by their recorded times while steps take ``step_s``; an idle server takes none.

    A prompt that could never fit is left out, as the server would refuse it.
    """
    clock_s = 0.0
    for arrival in sorted(arrivals, key=lambda arrival: arrival.time_s):
        while clock_s < arrival.time_s and len(both.model):
            both.step()
            clock_s += step_s
        clock_s = max(clock_s, arrival.time_s)
        call = arrival.make()
        if len(call.prompt) < both.config.max_request_tokens:
            both.add(call)
    both.drain()
    return both
