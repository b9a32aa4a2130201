"""A recording followed into call sites: lines become requests, what is no request is counted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from prometheus_client.core import Metric

from keepwarm._errors import InputError
from keepwarm.trace.blocks import block_size_of
from keepwarm.trace.encode import choose_encoder
from keepwarm.trace.json_values import RawRecord
from keepwarm.trace.readers import READERS
from keepwarm.trace.readers.base import Reader, Unusable
from keepwarm.trace.readers.decode import decode_object, detect
from keepwarm.trace.records import Request, Skipped
from keepwarm.watch.families import Following, families
from keepwarm.watch.returns import Returns
from keepwarm.watch.sites import CAPACITY_BLOCKS, CallSites, SimulatedCache
from keepwarm.watch.tail import Tail

_ENCODER_BYTES = 64 << 20


class FollowOptions(NamedTuple):
    """Which recording, how its prompts become blocks (as for ``diagnose``), and a model of tool times."""

    trace: Path
    tokenizer: str | None = None
    chat_template: str | None = None
    block_size: int | None = None
    capacity_blocks: int = CAPACITY_BLOCKS
    reuse_model: str | None = None


class Follower:
    """One recording. ``read_on`` is for one thread; ``collect`` may be called from another."""

    def __init__(self, options: FollowOptions) -> None:
        """Raises TraceError: the recording cannot be followed; InputError: the model cannot be used."""
        self._options = options
        self._returns = None if options.reuse_model is None else Returns(options.reuse_model)
        self._tail = Tail(options.trace)
        self._lock = Lock()
        self._reader: Reader | None = None
        self._sites: CallSites | None = None
        self._line = 0
        self._skipped = 0
        self._last_s: float | None = None

    def close(self) -> None:
        """Close the recording."""
        self._tail.close()

    def read_on(self) -> None:
        """Count every request that was added. Raises InputError: no encoder, or an unreadable file."""
        for line in self._tail.lines():
            self._line += 1
            for request in self._requests(line):
                self._count(request)

    def collect(self) -> Iterator[Metric]:
        """What is known now, as Prometheus metrics."""
        with self._lock:
            sites = [] if self._sites is None else self._sites.meters
            following = Following(self._skipped + self._tail.overlong, self._tail.rotations, self._last_s)
            # Inside the lock: the families copy the numbers.
            yield from list(families(sites, following))
            if self._returns is not None:
                yield from list(self._returns.families())

    def _requests(self, line: bytes) -> list[Request]:
        if not line.strip():
            return []
        try:
            record = decode_object(line)
            if self._reader is None:
                name = detect([RawRecord(self._line, line)])
                self._reader = None if name is None else READERS[name]()
            if self._reader is None or not self._reader.score(record):
                raise Unusable("no recorded request")
            read = list(self._reader.read(record, self._line))
        except (Unusable, RecursionError):
            self._skipped += 1
            return []
        self._skipped += sum(isinstance(one, Skipped) for one in read)
        return [one for one in read if isinstance(one, Request)]

    def _count(self, request: Request) -> None:
        if self._sites is None:
            self._sites = self._call_sites(request)
        with self._lock:
            if self._returns is not None:
                self._returns.add(request)
            try:
                self._sites.add(request)
            except InputError:  # a prompt that the template refuses, a tokenizer's server that is away
                self._skipped += 1
                return
            if request.time_s is not None:
                self._last_s = request.time_s

    def _call_sites(self, first: Request) -> CallSites:
        options = self._options
        encoder = choose_encoder(
            options.trace,
            first,
            tokenizer=options.tokenizer,
            chat_template=options.chat_template,
            cache_bytes=_ENCODER_BYTES,
        )
        cache = SimulatedCache(block_size_of(first, options.block_size), options.capacity_blocks)
        return CallSites(encoder, cache)
