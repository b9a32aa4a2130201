"""A simulation within a stated budget of memory: what may run at once, what is kept, and how it stops."""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections.abc import Callable, Iterator
from typing import TypeVar

import msgspec
import pyarrow as pa

from keepwarm._errors import BudgetError
from keepwarm._resources import memory_text, resident_bytes
from keepwarm._spill import RunFolder
from keepwarm.cache.numbering import BYTES_PER_HASH, BYTES_PER_ID
from keepwarm.cache.places import Ids, drop_pages

_Answer = TypeVar("_Answer")

SPARE_BYTES = 192 << 20
"""Left free for what grows on the way: compiled code, and what the allocator does not give back at once."""


class StoppedError(Exception):
    """Another part of the same work has failed, and the user hears of that one."""


class Bounded:
    """One budget and one folder. Replays ask for room in turn, and wait where others have it."""

    def __init__(self, memory_bytes: int, folder: RunFolder) -> None:
        self.folder = folder
        self._memory_bytes = memory_bytes
        self._held_bytes = 0  # before replays
        self._taken_bytes = 0
        self._changed = threading.Condition()
        self._stopped = False

    @property
    def most_hashes(self) -> int:
        """How many hashes may be numbered at a time: a quarter of the budget."""
        return max(1, self._memory_bytes // 4 // BYTES_PER_HASH)

    def watch(self, share_read: float) -> None:
        """Raises BudgetError: what is kept while the trace is read takes more than the budget."""
        held = resident_bytes()
        if held > self._memory_bytes:
            raise self._refusal("reading the trace", int(held / max(share_read, 0.01)))

    def check_numbering(self, hashes: int) -> None:
        """Raises BudgetError: so many hashes, all distinct, could not be numbered beside what is held now."""
        at_once, for_good = BYTES_PER_HASH * min(hashes, self.most_hashes), BYTES_PER_ID * hashes
        needed = resident_bytes() + max(at_once, for_good)
        if needed > self._memory_bytes:
            raise self._refusal("numbering the blocks", needed)

    def settle(self, ids: Ids) -> None:
        """The trace is in: all but what is held now is for replays."""
        drop_pages(ids)
        pa.default_memory_pool().release_unused()
        self._held_bytes = resident_bytes()

    def check(self, what: str, needed_bytes: int) -> None:
        """Raises BudgetError: ``what`` would not fit even if it had all the room."""
        if needed_bytes > self._room_bytes:
            raise self._refusal(what, self._held_bytes + SPARE_BYTES + needed_bytes)

    @contextlib.contextmanager
    def room(self, what: str, needed_bytes: int) -> Iterator[None]:
        """Hold so much of the budget, once it is free. Raises BudgetError, StoppedError."""
        self.check(what, needed_bytes)
        with self._changed:
            self._changed.wait_for(
                lambda: self._stopped or self._taken_bytes + needed_bytes <= self._room_bytes
            )
            self._taken_bytes += needed_bytes
        try:
            self.go_on()
            yield
        finally:
            with self._changed:
                self._taken_bytes -= needed_bytes
                self._changed.notify_all()

    def stop(self) -> None:
        """Let replays that run or wait end soon."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def go_on(self) -> None:
        """Raises StoppedError after ``stop``."""
        if self._stopped:
            raise StoppedError

    def between(self, ids: Ids) -> None:
        """What a replay does every now and then. Raises StoppedError after ``stop``."""
        drop_pages(ids)
        self.go_on()

    def once(self, decided: object, compute: Callable[[], _Answer], kind: type[_Answer]) -> _Answer:
        """The answer that this run or an earlier one has kept, else what ``compute`` says.

        ``decided`` is all that decides it beside trace and code. Raises what ``compute`` does, and OSError.
        """
        digest = hashlib.blake2b(msgspec.json.encode(decided, order="sorted"), digest_size=16)
        name = f"answer-{digest.hexdigest()}.json"
        path = self.folder.get(name)
        if path is not None:
            with contextlib.suppress(msgspec.MsgspecError):  # whole, and yet no answer: computed again
                return msgspec.json.decode(path.read_bytes(), type=kind)
        answer = compute()
        self.folder.put(name, lambda file: file.write(msgspec.json.encode(answer)))
        return answer

    @property
    def _room_bytes(self) -> int:
        return self._memory_bytes - self._held_bytes - SPARE_BYTES

    def _refusal(self, what: str, enough_bytes: int) -> BudgetError:
        budget, enough = memory_text(self._memory_bytes), memory_text(enough_bytes)
        return BudgetError(
            f"{what} does not fit {budget} of memory; give --memory {enough}, smaller capacities or fewer "
            "policies, or estimate with --sample RATE, the lower the less"
        )


@contextlib.contextmanager
def stopping(bounded: Bounded | None) -> Iterator[None]:
    """What goes wrong in the block, Ctrl-C too, ends the replays of other threads."""
    try:
        yield
    except BaseException:
        if bounded is not None:
            bounded.stop()
        raise
