"""A trace opened for replay: its first request decides the block size, and all others have to agree."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from keepwarm._checks import MOST_BLOCK_TOKENS
from keepwarm._errors import InputError
from keepwarm._progress import Increments, Progress
from keepwarm.cache.options import TraceOptions
from keepwarm.trace.blocks import block_size_of, check_tokens
from keepwarm.trace.open import Trace, open_trace
from keepwarm.trace.records import Request


class Position:
    """How far a file has been read; tells ``progress``, too."""

    def __init__(self, progress: Progress, size_bytes: int) -> None:
        self._tell = Increments(progress)
        self._size_bytes = size_bytes
        self._at = 0

    def __call__(self, position: int) -> None:
        self._at = position
        self._tell(position)

    @property
    def share(self) -> float:
        """From 0 to 1."""
        return self._at / self._size_bytes


class Opened(NamedTuple):
    """A trace of which the first request is known; ``requests`` begin with it and come once."""

    trace: Trace
    first: Request
    requests: Iterator[Request]
    block_size: int
    position: Position

    def checked(self, *, chosen: bool) -> Iterator[Request]:
        """The requests, as long as all of them can be replayed through one cache; else InputError.

        ``chosen``: the block size is what the user wants, whatever the records say.
        """
        first, block_size = self.first, self.block_size
        place = repr(str(self.trace.path))
        if block_size > MOST_BLOCK_TOKENS:
            raise InputError(
                f"{place} line {first.line}: blocks of {block_size} tokens, more than any server's; "
                "correct the record, or take it out"
            )
        for request in self.requests:
            check_tokens(place, request)
            if (request.hashed is None) != (first.hashed is None):
                raise InputError(
                    f"{place} line {request.line}: block hashes and prompts in one trace; split it in two"
                )
            if request.hashed is not None and request.hashed.block_size != block_size:
                raise InputError(
                    f"{place} line {request.line}: blocks of {request.hashed.block_size} tokens, but of "
                    f"{block_size} before; split the trace by block size"
                )
            if not chosen and request.block_size not in (None, block_size) and request.hashed is None:
                raise InputError(
                    f"{place} line {request.line}: the engine's block size is {request.block_size}, but "
                    f"{block_size} before; pass one for all with --block-size"
                )
            yield request


def open_requests(path: str | os.PathLike[str], options: TraceOptions, progress: Progress) -> Opened:
    """Open the trace and read its first request. Raises InputError as ``load_trace``."""
    trace = open_trace(path, options.format)
    progress.stage("reading", trace.size_bytes)
    position = Position(progress, trace.size_bytes)
    requests = trace.requests(position, own_ids=False)
    first = next(requests)  # a trace without a request raises TraceError
    _check_block_size(trace, first, options.block_size)
    return Opened(trace, first, chain((first,), requests), block_size_of(first, options.block_size), position)


def _check_block_size(trace: Trace, first: Request, wanted: int | None) -> None:
    own = first.hashed.block_size if first.hashed is not None else None
    if own is not None and wanted is not None and wanted != own:
        raise InputError(
            f"{str(trace.path)!r} holds hashes of blocks of {own} tokens, not of {wanted}; "
            f"leave --block-size out or pass {own}"
        )
