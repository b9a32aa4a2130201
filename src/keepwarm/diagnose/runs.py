"""Runs: a prompt as stretches of tokens that are alike, each with a code and the token where it ends.

A prompt of 200,000 tokens has a handful of them, which is why all prompts of a trace can be kept this way.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.uint8]
Ends = npt.NDArray[np.int32]


class Runs(NamedTuple):
    """One prompt: run ``i`` has ``code[i]`` and ends before token ``end[i]``, where the next one begins."""

    code: Codes
    end: Ends

    def counts(self, codes: int) -> list[int]:
        """Tokens of each of the codes ``0:codes``."""
        lengths = np.diff(self.end, prepend=np.int32(0))
        tokens: list[int] = np.bincount(self.code, weights=lengths, minlength=codes).astype(np.int64).tolist()
        return tokens


def joined(codes: Sequence[int] | Codes, ends: Sequence[int] | Ends) -> Runs:
    """Runs from sorted ``ends``: empty ones left out, neighbours of one code made one."""
    code, end = np.asarray(codes, dtype=np.uint8), np.asarray(ends, dtype=np.int32)
    kept = np.diff(end, prepend=np.int32(0)) > 0
    code, end = code[kept], end[kept]
    last = np.append(code[1:] != code[:-1], True)[: len(code)]  # of its neighbours
    return Runs(code[last], end[last])


class RunColumn(NamedTuple):
    """The runs of all requests, flat: those of request ``i`` are ``offsets[i]:offsets[i + 1]``."""

    offsets: npt.NDArray[np.int64]
    code: Codes
    end: Ends

    def of(self, index: int) -> Runs:
        """The runs of one request, as views."""
        start, stop = int(self.offsets[index]), int(self.offsets[index + 1])
        return Runs(self.code[start:stop], self.end[start:stop])


class RunGatherer:
    """Gathers the runs of requests in five bytes each, which matters for traces of a gigabyte."""

    def __init__(self) -> None:
        self._offsets = array("q", [0])
        self._codes = bytearray()
        self._ends = array("i")

    def add(self, runs: Runs) -> None:
        """The runs of the next request. Mutates."""
        self._codes += runs.code.tobytes()
        self._ends.frombytes(runs.end.tobytes())
        self._offsets.append(len(self._codes))

    def column(self) -> RunColumn:
        """All of them; shares memory with the gatherer, which is to be given up."""
        return RunColumn(
            np.frombuffer(self._offsets, dtype=np.int64),
            np.frombuffer(self._codes, dtype=np.uint8),
            np.frombuffer(self._ends, dtype=np.int32),
        )


class MapRuns(NamedTuple):
    """Fates and sections of every request, in catalog order: what the break map is drawn from.

    ``fate`` numbers ``prompt_map.FATES``, ``section`` numbers ``prompt_map.SECTIONS``; the runs of a request
    end with its last token.
    """

    block_size: int
    prompt_tokens: npt.NDArray[np.int32]
    fate: RunColumn
    section: RunColumn
