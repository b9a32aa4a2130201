"""Requests by the number of their arrival, also when one comes back into its old place."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from itertools import islice
from math import inf
from typing import Generic

from keepwarm.scheduling.base import T


class ArrivalQueue(Generic[T]):
    """A sorted list of numbers: O(log n) and a memory move to enter and leave, O(1) to look at the first."""

    def __init__(self) -> None:
        self._numbers: list[int] = []
        self._tickets: dict[int, T] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def __contains__(self, number: object) -> bool:
        return number in self._tickets

    def __iter__(self) -> Iterator[T]:
        """In the order of arrival."""
        return (self._tickets[number] for number in self._numbers)

    def push(self, ticket: T, number: int) -> None:
        """Enter it at its place. Mutates."""
        self._tickets[number] = ticket
        insort(self._numbers, number)

    def remove(self, number: int) -> None:
        """Take it out. Mutates; KeyError if it is not there."""
        del self._tickets[number]
        del self._numbers[bisect_left(self._numbers, number)]

    def first(self) -> T | None:
        """Who arrived first."""
        return self._tickets[self._numbers[0]] if self._numbers else None

    def number_of_first(self) -> float:
        """Its number; infinite if there is none."""
        return self._numbers[0] if self._numbers else inf

    def oldest(self, most: int) -> Iterator[T]:
        """The first few."""
        return (self._tickets[number] for number in islice(self._numbers, most))
