"""Where what is kept of a trace lies: in memory, or in a run's folder with what is used in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, BinaryIO, Protocol, TypeVar, overload

from keepwarm.trace.slabs import ByteSlabs
from keepwarm.trace.spilled import SpilledBytes

if TYPE_CHECKING:
    from keepwarm._spill import RunFolder

T = TypeVar("T")


class ByteColumn(Protocol):
    """Byte strings by number. ``found`` of them an interrupted run has left: those are not written again."""

    found: int

    def __len__(self) -> int: ...
    def __getitem__(self, number: int) -> bytes: ...
    def append(self, value: bytes) -> None:
        """Add one at the end. Raises OSError: the disk is full, say."""


class Made(Sequence[T]):
    """A sequence whose items are made when they are asked for. Equal to whatever holds equal items."""

    def __init__(self, length: int, make: Callable[[int], T]) -> None:
        self._length = length
        self._make = make

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[T]: ...
    def __getitem__(self, at: int | slice) -> T | Sequence[T]:
        if isinstance(at, slice):
            return tuple(self._make(i) for i in range(*at.indices(self._length)))
        if not -self._length <= at < self._length:
            raise IndexError(at)
        return self._make(at % self._length)

    def __iter__(self) -> Iterator[T]:
        return map(self._make, range(self._length))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # like a list

    def __repr__(self) -> str:
        """Its items: an address would differ from run to run."""
        return f"Made({list(self)!r})"


class Column(Made[T]):
    """A growing sequence of values that are kept as bytes."""

    def __init__(self, store: ByteColumn, pack: Callable[[T], bytes], unpack: Callable[[bytes], T]) -> None:
        super().__init__(0, lambda at: unpack(store[at]))
        self._store = store
        self._pack = pack

    @property
    def found(self) -> int:
        """How many of the first values need not be made: an interrupted run has left them."""
        return self._store.found

    def append(self, value: T) -> None:
        """Add a value at the end. Raises OSError: the disk is full, say."""
        self._store.append(self._pack(value))
        self._length += 1

    def append_found(self) -> T:
        """Add the next of those that are ``found``, and give it."""
        self._store.append(b"")
        self._length += 1
        return self[-1]


class Stores:
    """Makes columns: in memory, or in ``folder``.

    ``encoder_bytes`` bounds what an encoder keeps of earlier prompts beside them; None: what is usual.
    ``watch`` is called when a part has gone to disk, and may raise.
    """

    def __init__(
        self,
        folder: RunFolder | None = None,
        *,
        encoder_bytes: int | None = None,
        watch: Callable[[], None] = lambda: None,
    ) -> None:
        self._folder = folder
        self._watch = watch
        self._made: dict[str, ByteColumn] = {}
        self.encoder_bytes = encoder_bytes

    @property
    def spill(self) -> bool:
        """Whether what is kept goes to disk."""
        return self._folder is not None

    def bytes(self, name: str) -> ByteColumn:
        """A new column of byte strings, ``name`` of the run."""
        made: ByteColumn = (
            ByteSlabs() if self._folder is None else SpilledBytes(self._folder, name, self._watch)
        )
        self._made[name] = made
        return made

    def scratch(self) -> BinaryIO | None:
        """A file that is gone when it is closed; None where what is kept stays in memory. Raises OSError."""
        return None if self._folder is None else self._folder.scratch()

    def count(self, name: str) -> int:
        """How many byte strings the column of that name has; 0 if there is none."""
        return len(self._made.get(name, ()))
