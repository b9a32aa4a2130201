"""Which sessions of a workload run, in which order, and which of them are measured."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import count
from typing import NamedTuple

from keepwarm._errors import InputError
from keepwarm.policies.base import BlockHash
from keepwarm.policies.sessions import SessionId
from keepwarm.serving.options import Population, ServingOptions
from keepwarm.workload.base import SessionTrace, Workload

_ROUND = 1 << 40  # hashes of one round through the sessions; a session that comes again shares nothing


class Cast(NamedTuple):
    """The sessions of one run: ``first`` start at 0, each that ends is followed by the next of ``later``.

    Measured are the sessions of the numbers in ``measured``, counted in the order of their start.
    ``left_out`` have a request that the server's cache cannot hold.
    """

    first: Sequence[SessionTrace]
    later: Iterator[SessionTrace]
    measured: range
    left_out: int


def choose(workload: Workload, options: ServingOptions, most_request_tokens: int) -> Cast:
    """Shuffled by the seed; raises InputError if there are too few.

    Started together: the first N of them, all measured. Constant population: N start together, N more in
    place of those that end, and these N are measured; then the sessions come again, with hashes of their
    own, so that the number stays what it is until the last measured one has ended.
    """
    fit = [session for session in workload.sessions if _longest(session) <= most_request_tokens]
    wanted = options.sessions * (2 if options.population is Population.CONSTANT else 1)
    if len(fit) < options.sessions:
        raise InputError(
            f"{options.sessions} sessions are asked for and {len(fit)} of {len(workload.sessions)} fit a "
            f"server of {most_request_tokens} tokens; ask for fewer"
        )
    order = random.Random(options.seed).sample(fit, len(fit))  # noqa: S311 - seeded, not secret
    endless = _again_and_again(order)
    first = [next(endless) for _ in range(options.sessions)]
    if options.population is Population.TOGETHER:
        return Cast(first, iter(()), range(options.sessions), len(workload.sessions) - len(fit))
    return Cast(first, endless, range(options.sessions, wanted), len(workload.sessions) - len(fit))


def _longest(session: SessionTrace) -> int:
    return max(turn.prompt_tokens + turn.output_tokens for turn in session.turns)


def _again_and_again(order: Sequence[SessionTrace]) -> Iterator[SessionTrace]:
    yield from order
    for round_number in count(1):
        for session in order:
            yield _renamed(session, round_number)


def _renamed(session: SessionTrace, round_number: int) -> SessionTrace:
    names = {
        block: BlockHash(block + round_number * _ROUND) for turn in session.turns for block in turn.blocks
    }
    turns = [turn._replace(blocks=[names[block] for block in turn.blocks]) for turn in session.turns]
    return session._replace(id=SessionId(f"{session.id}#{round_number}"), turns=turns)
