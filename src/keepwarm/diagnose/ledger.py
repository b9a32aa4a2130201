"""What is told of each request, kept small: numbers in memory, texts around breaks where there is room."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from keepwarm.diagnose.breaks import Break
from keepwarm.diagnose.findings import TokenFates
from keepwarm.diagnose.runs import RunGatherer, Runs
from keepwarm.trace.columns import Column, Made, Stores

_FATES = TokenFates.__struct_fields__


class Account(NamedTuple):
    """What is told of one request: the fates of its tokens, where they are, its sections, and its break."""

    tokens: TokenFates
    fates: Runs
    sections: Runs
    found: Break | None


class Ledger:
    """The accounts of requests, in catalog order. Those ``found`` are from an interrupted run."""

    def __init__(self, stores: Stores) -> None:
        self._spilled: Column[Account] | None = None
        self._breaks: list[Break | None] = []
        if stores.spill:
            self._spilled = Column(stores.bytes("accounts"), _packed, _unpacked)
        self._columns = [array("i") for _ in _FATES]
        self.fate_runs = RunGatherer()
        self.section_runs = RunGatherer()

    @property
    def found(self) -> int:
        """How many of the first accounts need not be told again."""
        return 0 if self._spilled is None else self._spilled.found

    def add(self, account: Account) -> None:
        """The account of the next request. Mutates. Raises OSError: the disk is full, say."""
        if self._spilled is None:
            self._breaks.append(account.found)
        else:
            self._spilled.append(account)
        self._count(account)

    def add_found(self) -> None:
        """The account of the next request, which is one of those ``found``. Mutates."""
        assert self._spilled is not None
        self._count(self._spilled.append_found())

    def _count(self, account: Account) -> None:
        for column, name in zip(self._columns, _FATES, strict=True):
            column.append(getattr(account.tokens, name))
        self.fate_runs.add(account.fates)
        self.section_runs.add(account.sections)

    @property
    def fates(self) -> Sequence[TokenFates]:
        """Tokens by fate of each request."""
        columns = self._columns
        return Made(
            len(columns[0]),
            lambda at: TokenFates(**{name: column[at] for name, column in zip(_FATES, columns, strict=True)}),
        )

    @property
    def breaks(self) -> Sequence[Break | None]:
        """The break of each request."""
        spilled = self._spilled
        if spilled is None:
            return Made(len(self._breaks), self._breaks.__getitem__)
        return Made(len(spilled), lambda at: spilled[at].found)


class _Packed(msgspec.Struct, array_like=True):
    """An account as it lies on disk."""

    tokens: tuple[int, ...]
    runs: tuple[bytes, bytes, bytes, bytes]
    found: Break | None


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(_Packed)


def _packed(account: Account) -> bytes:
    tokens = tuple(getattr(account.tokens, name) for name in _FATES)
    fates, sections = account.fates, account.sections
    runs = (fates.code.tobytes(), fates.end.tobytes(), sections.code.tobytes(), sections.end.tobytes())
    return _ENCODER.encode(_Packed(tokens, runs, account.found))


def _unpacked(raw: bytes) -> Account:
    packed = _DECODER.decode(raw)
    codes = [np.frombuffer(packed.runs[at], dtype=np.uint8) for at in (0, 2)]
    ends = [np.frombuffer(packed.runs[at], dtype=np.int32) for at in (1, 3)]
    tokens = TokenFates(**dict(zip(_FATES, packed.tokens, strict=True)))
    return Account(tokens, Runs(codes[0], ends[0]), Runs(codes[1], ends[1]), packed.found)
