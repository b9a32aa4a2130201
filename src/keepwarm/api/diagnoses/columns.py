"""The requests of a diagnosis as columns: filters and orders are numpy's, records are made of a page only."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from keepwarm.api.schema.diagnosis import Order
from keepwarm.diagnose.findings import RequestRow, TokenFates
from keepwarm.diagnose.prompt_map import FATES, Fate
from keepwarm.diagnose.report.reading import request_rows

Indices = npt.NDArray[np.int64]
Counts = npt.NDArray[np.int64]


class Wanted(NamedTuple):
    """Which requests; None: any. ``text`` is a part of the id, in whichever case."""

    call_site: str | None = None
    session: str | None = None
    cause: str | None = None
    fate: Fate | None = None
    text: str | None = None


class Named(NamedTuple):
    """A column of names as numbers: ``names`` in order of first use."""

    names: list[str]
    code: npt.NDArray[np.int32]

    def where(self, name: str) -> npt.NDArray[np.bool_]:
        """Which rows have that name."""
        found: npt.NDArray[np.bool_] = self.code == (self.names.index(name) if name in self.names else -1)
        return found


class RequestColumns:
    """Columns of ``requests.parquet``, one entry a request, in recorded order. Nothing mutates them."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table.combine_chunks()
        self._cause_offsets, self.cause_names, self._cause_code = _lists(self._table["causes"])
        self.call_site = _named(self._table["call_site"])
        self.session = _named(self._table["session"])
        self.index = _numbers(self._table["index"])
        self.prompt = _numbers(self._table["prompt_tokens"])
        self.fates: dict[str, Counts] = {name: _numbers(self._table[f"{name}_tokens"]) for name in FATES}
        self.time_s = _floats(self._table["time_s"])
        cached = _numbers(pc.fill_null(self._table["cached_tokens"], 0))
        shortfall = np.where(cached > 0, np.maximum(self.fates["hit"] - cached, 0), 0)
        self.lost = self.fates["diverged"] + self.fates["evicted"] + shortfall
        # Without a time a request stays where it was recorded, behind those that have one.
        by_time = np.argsort(self.time_s, kind="stable")
        self.time_rank = np.empty(len(by_time), dtype=np.int64)
        self.time_rank[by_time] = np.arange(len(by_time))

    def __len__(self) -> int:
        """How many requests."""
        return len(self.index)

    @property
    def ids(self) -> pa.ChunkedArray:
        """Their ids."""
        return self._table["id"]

    def select(self, wanted: Wanted) -> Indices:
        """Positions of what is wanted, in recorded order."""
        kept = np.ones(len(self), dtype=np.bool_)
        if wanted.call_site is not None:
            kept &= self.call_site.where(wanted.call_site)
        if wanted.session is not None:
            kept &= self.session.where(wanted.session)
        if wanted.cause is not None:
            kept &= self._has_cause(wanted.cause)
        if wanted.fate is not None:
            kept &= self.fates[wanted.fate] > 0
        if wanted.text:
            found = pc.match_substring(self.ids, wanted.text, ignore_case=True)
            kept &= found.combine_chunks().to_numpy(zero_copy_only=False)
        return np.flatnonzero(kept)

    def ordered(self, positions: Indices, order: Order) -> Indices:
        """``positions`` by time, or what loses most, is longest or hits least first; ties by time."""
        by_time = positions[np.argsort(self.time_rank[positions], kind="stable")]
        if order == "time":
            return by_time
        if order == "hit_rate":
            rate = self.fates["hit"][by_time] / np.maximum(self.prompt[by_time], 1)
            return by_time[np.argsort(rate, kind="stable")]
        most = (self.lost if order == "lost" else self.prompt)[by_time]
        return by_time[np.argsort(-most, kind="stable")]

    def rows(self, positions: Indices) -> tuple[RequestRow, ...]:
        """The records there."""
        return request_rows(self._table.take(pa.array(positions)))

    def optional(self, name: str, positions: Indices) -> list[Any]:
        """Values of a column, None where there is none."""
        values: list[Any] = self._table[name].take(pa.array(positions)).to_pylist()
        return values

    def first_cause(self, positions: Indices) -> Counts:
        """The number of the first cause in ``cause_names``, -1 where there is none."""
        start, stop = self._cause_offsets[positions], self._cause_offsets[positions + 1]
        found = np.full(len(positions), -1, dtype=np.int64)
        some = start < stop
        found[some] = self._cause_code[start[some]]
        return found

    def tokens_by_site(self) -> dict[str, TokenFates]:
        """The fates of each call site's prompts, added up."""
        sites = len(self.call_site.names)
        sums = {"prompt": self._summed(self.prompt, sites)}
        sums |= {name: self._summed(tokens, sites) for name, tokens in self.fates.items()}
        return {
            site: TokenFates(**{name: int(counts[number]) for name, counts in sums.items()})
            for number, site in enumerate(self.call_site.names)
        }

    def position(self, index: int) -> int | None:
        """Where the request with that index is, None: nowhere."""
        found = np.flatnonzero(self.index == index)
        return int(found[0]) if len(found) else None

    def earlier(self, id: str, position: int) -> int | None:  # noqa: A002 - as the record calls it
        """The nearest request of that id in front of ``position``, None: there is none."""
        is_it = pc.equal(self.ids, id).combine_chunks().to_numpy(zero_copy_only=False)
        found = np.flatnonzero(is_it[:position])
        return int(found[-1]) if len(found) else None

    def _summed(self, tokens: Counts, sites: int) -> Counts:
        sums = np.zeros(sites, dtype=np.int64)
        np.add.at(sums, self.call_site.code, tokens)
        return sums

    def _has_cause(self, cause: str) -> npt.NDArray[np.bool_]:
        kept = np.zeros(len(self), dtype=np.bool_)
        if cause in self.cause_names:
            lengths = np.diff(self._cause_offsets)
            owner = np.repeat(np.arange(len(self)), lengths)
            kept[owner[self._cause_code == self.cause_names.index(cause)]] = True
        return kept


def _numbers(column: pa.ChunkedArray) -> Counts:
    numbers: Counts = column.combine_chunks().to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers


def _floats(column: pa.ChunkedArray) -> npt.NDArray[np.float64]:
    filled = pc.fill_null(column, float("nan")).combine_chunks()
    numbers: npt.NDArray[np.float64] = filled.to_numpy(zero_copy_only=False)
    return numbers


def _named(column: pa.ChunkedArray) -> Named:
    coded = column.combine_chunks().dictionary_encode()
    return Named(coded.dictionary.to_pylist(), coded.indices.to_numpy(zero_copy_only=False))


def _lists(column: pa.ChunkedArray) -> tuple[Counts, list[str], npt.NDArray[np.int32]]:
    """Offsets of each row's names, the names, and their numbers one after another."""
    lists = column.combine_chunks()
    offsets = lists.offsets.to_numpy().astype(np.int64)
    coded = lists.values.dictionary_encode()
    return offsets, coded.dictionary.to_pylist(), coded.indices.to_numpy(zero_copy_only=False)
