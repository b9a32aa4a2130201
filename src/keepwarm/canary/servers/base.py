"""What the canary asks of a server it may start, stop and start again with other settings."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from types import TracebackType
from typing import Self


class ServerAdapter(abc.ABC):
    """One vLLM server at a time, from ``start`` to ``stop``; leaving it as a context manager stops it."""

    @property
    @abc.abstractmethod
    def base_url(self) -> str:
        """Where the server answers, without ``/v1``; valid after ``start``. Does not mutate."""

    @abc.abstractmethod
    def start(self, settings: Mapping[str, str]) -> None:
        """Start with ``settings`` in the environment, and return when ``/health`` answers 200. Mutates.

        A server that runs already is stopped first: ``start`` is also the restart, and nothing is
        installed by it. ``ServerError``, with the end of the log, if it ends or does not answer in time.
        """

    @abc.abstractmethod
    def stop(self) -> None:
        """End the server and wait until it has gone. Mutates; nothing happens if none runs; never raises."""

    @abc.abstractmethod
    def log_tail(self, lines: int = 40) -> str:
        """The end of what the server printed; empty if that is not known. Does not mutate."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
