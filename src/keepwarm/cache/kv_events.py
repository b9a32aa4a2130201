"""A recording of a server's KV events, counted: which hashes came into its cache and which went.

vLLM publishes them with ``--kv-events-config`` (0.32.0, ``distributed/kv_events.py``); a recording is JSON
lines, one event or one batch a line, with vLLM's own field names. Every block that gets a hash is in a
BlockStored, twins too, and every hash removed to make room is in a BlockRemoved. Requests sent with
``kv_cache_report_mode`` "full" also list the blocks they hit: those count as stored again, and such a
recording does not compare.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from keepwarm._errors import InputError
from keepwarm.trace.source import ByteSource, size_of

_GPU_MEDIUMS = (None, "GPU")
_FULL_KINDS = (None, "full_attention", "mla_attention")
_ONE_GROUP = "only the events of single-group full attention are compared; leave --kv-events out"


class BlockStored(msgspec.Struct, tag=True):
    """Blocks that got their hashes, as vLLM writes it. What is not needed is not read."""

    block_hashes: list[str | int]
    block_size: int
    medium: str | None = None
    group_idx: int | None = None
    kv_cache_spec_kind: str | None = None


class BlockRemoved(msgspec.Struct, tag=True):
    """Hashes that went to make room."""

    block_hashes: list[str | int]
    medium: str | None = None
    group_idx: int | None = None


class AllBlocksCleared(msgspec.Struct, tag=True):
    """The prefix cache was reset."""


KvEvent = BlockStored | BlockRemoved | AllBlocksCleared


class KvEventCounts(NamedTuple):
    """What a recording holds. Blocks are counted one a hash listed; those of other media (CPU) are left out.

    ``unseen_removed_blocks`` were removed but never stored: they were there before the recording began.
    ``peak_resident_blocks``: the most blocks with a hash at any time, of those the recording saw come in.
    ``block_size`` is None where nothing was stored. ``skipped_events`` could not be read, ``first_reason``
    says why.
    """

    stored_blocks: int
    removed_blocks: int
    clears: int
    peak_resident_blocks: int
    unseen_removed_blocks: int
    block_size: int | None
    events: int
    other_medium_events: int
    skipped_events: int
    first_reason: str | None


def read_kv_events(path: Path) -> KvEventCounts:
    """Count the events of ``path``, JSON lines, plain or compressed.

    Raises:
        InputError: the file cannot be read, holds no KV events, blocks of several sizes, or the events of
            more than one group of full attention.
    """
    size_of(path, "KV events")  # a file, and not an empty one
    counter = _Counter(path)
    with contextlib.closing(ByteSource(path)) as source:
        for number, data in source.records():
            if data is None:
                counter.skip(number, "the line is too long")
            elif data.strip():
                counter.add_line(number, data)
        if source.damage:
            counter.skip(number, source.damage)
    return counter.counts()


class _Batch(msgspec.Struct, array_like=True):
    """vLLM's own form: a list of time, events and rank."""

    _time_s: float
    events: list[msgspec.Raw]


class _NamedBatch(msgspec.Struct):
    """The same with names, or one event alone: then ``events`` is None."""

    events: list[msgspec.Raw] | None = None


_BATCH = msgspec.json.Decoder(_Batch)
_NAMED_BATCH = msgspec.json.Decoder(_NamedBatch)
_EVENT = msgspec.json.Decoder(KvEvent)


class _Counter:
    """What the events so far add up to."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._copies: Counter[str | int] = Counter()
        self._resident = 0
        self._peak = 0
        self._stored = self._removed = self._unseen = self._clears = 0
        self._events = self._other_medium = self._skipped = 0
        self._block_size: int | None = None
        self._first_reason: str | None = None

    def add_line(self, number: int, data: bytes) -> None:
        """Count one line: a batch or an event. Mutates."""
        try:
            events = list(_events_of(data))
        except msgspec.MsgspecError as error:
            self.skip(number, str(error))
            return
        for raw in events:
            try:
                event = _EVENT.decode(raw)
            except msgspec.MsgspecError as error:
                self.skip(number, str(error))
                continue
            self._events += 1
            self._add(number, event)

    def skip(self, number: int, reason: str) -> None:
        """Leave an event out. Mutates."""
        self._skipped += 1
        self._first_reason = self._first_reason or f"line {number}: {reason}"

    def counts(self) -> KvEventCounts:
        """The result. Raises InputError if there was no event at all."""
        if not self._events:
            raise InputError(
                f"{str(self._path)!r} holds no KV events ({self._first_reason or 'no line has any'}); give a "
                "recording of vLLM's events as JSON lines: BlockStored, BlockRemoved, AllBlocksCleared"
            )
        return KvEventCounts(
            stored_blocks=self._stored,
            removed_blocks=self._removed,
            clears=self._clears,
            peak_resident_blocks=self._peak,
            unseen_removed_blocks=self._unseen,
            block_size=self._block_size,
            events=self._events,
            other_medium_events=self._other_medium,
            skipped_events=self._skipped,
            first_reason=self._first_reason,
        )

    def _add(self, number: int, event: KvEvent) -> None:
        if isinstance(event, AllBlocksCleared):
            self._clears += 1
            self._copies.clear()
            self._resident = 0
        elif event.medium not in _GPU_MEDIUMS:
            self._other_medium += 1
        elif isinstance(event, BlockStored):
            self._check_stored(number, event)
            self._stored += len(event.block_hashes)
            self._copies.update(event.block_hashes)
            self._resident += len(event.block_hashes)
            self._peak = max(self._peak, self._resident)
        else:
            self._check_group(number, event)
            self._removed += len(event.block_hashes)
            for block_hash in event.block_hashes:
                self._remove(block_hash)

    def _remove(self, block_hash: str | int) -> None:
        if not self._copies[block_hash]:
            del self._copies[block_hash]  # looked up, so it is there with a count of 0
            self._unseen += 1
            return
        self._copies[block_hash] -= 1
        self._resident -= 1

    def _check_group(self, number: int, event: BlockStored | BlockRemoved) -> None:
        if event.group_idx not in (None, 0):
            raise InputError(
                f"{str(self._path)!r} line {number}: an event of group {event.group_idx!r}; {_ONE_GROUP}"
            )

    def _check_stored(self, number: int, event: BlockStored) -> None:
        self._check_group(number, event)
        if event.kv_cache_spec_kind not in _FULL_KINDS:
            raise InputError(
                f"{str(self._path)!r} line {number}: blocks for {event.kv_cache_spec_kind!r}; {_ONE_GROUP}"
            )
        if self._block_size not in (None, event.block_size):
            raise InputError(
                f"{str(self._path)!r} line {number}: blocks of {event.block_size!r} tokens, but of "
                f"{self._block_size} before; give the recording of one server"
            )
        self._block_size = event.block_size


def _events_of(data: bytes) -> Iterator[msgspec.Raw | bytes]:
    if data.lstrip().startswith(b"["):
        yield from _BATCH.decode(data).events
        return
    named = _NAMED_BATCH.decode(data).events
    if named is None:
        yield data
    else:
        yield from named
