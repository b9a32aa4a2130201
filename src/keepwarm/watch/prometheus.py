"""Instant queries to a Prometheus; whatever goes wrong is one line."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, NamedTuple, Self

import httpx2

from keepwarm._errors import InputError, ServerError
from keepwarm._hosts import is_loopback
from keepwarm._json import parsed
from keepwarm._text import clip, visible
from keepwarm._urls import http_url

_TIMEOUT_S = 15.0  # without a byte
_MOST_S = 60.0  # of one answer, however it trickles
MOST_BYTES = 64 << 20  # of one answer
_LAST_S = 253_402_300_799.0  # of the year 9999
_SHOWN_CHARACTERS = 200


class Sample(NamedTuple):
    """One series at one moment. ``value`` is finite."""

    labels: Mapping[str, str]
    value: float


class Prometheus:
    """A Prometheus at ``url``; a context manager. ``transport`` replaces the network. Raises InputError."""

    def __init__(self, url: str, *, transport: httpx2.BaseTransport | None = None) -> None:
        checked = _checked_url(url)
        # Without user and password: it is in every message.
        self.name = str(checked.copy_with(username=None, password=None)).rstrip("/")
        self._client = httpx2.Client(
            base_url=checked,
            timeout=_TIMEOUT_S,
            transport=transport,
            trust_env=not is_loopback(checked.host),  # no proxy stands before a server on this machine
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    def query(self, expr: str, at_s: float | None = None) -> list[Sample]:
        """The series of ``expr`` at ``at_s`` (epoch seconds; None: now), without those that are no number.

        Raises ServerError.
        """
        parameters = {"query": expr} if at_s is None else {"query": expr, "time": f"{at_s:.3f}"}
        result = self._data("query", parameters).get("result")
        if not isinstance(result, list):
            raise self._stranger()
        try:
            read = [Sample(_labels(one["metric"]), float(one["value"][1])) for one in result]
        except (KeyError, IndexError, TypeError, ValueError):
            raise self._stranger() from None
        return [sample for sample in read if math.isfinite(sample.value)]

    def now_s(self) -> float:
        """The time by its own clock. Raises ServerError."""
        result = self._data("query", {"query": "time()"}).get("result")
        try:
            now_s = float(result[1])  # type: ignore[index]
        except (IndexError, KeyError, TypeError, ValueError):
            raise self._stranger() from None
        if not 0 <= now_s <= _LAST_S:
            raise self._stranger()
        return now_s

    def _data(self, path: str, parameters: Mapping[str, str]) -> dict[str, Any]:
        try:
            status, content = self._get(f"/api/v1/{path}", parameters)
        except httpx2.HTTPError as error:
            reason = visible(str(error)) or type(error).__name__
            raise ServerError(
                f"no answer from a Prometheus at {self.name}: {reason}; check --prometheus and that it runs"
            ) from None
        try:
            answer = parsed(content)
        except ValueError:
            raise self._stranger(status) from None
        if not isinstance(answer, dict):
            raise self._stranger(status)
        if answer.get("status") != "success":
            said = clip(visible(str(answer.get("error", "no reason"))), _SHOWN_CHARACTERS)
            raise ServerError(
                f"{self.name} refused a query: {said}; is it a Prometheus of version 2.40 or newer?"
            )
        data = answer.get("data")
        if not isinstance(data, dict):
            raise self._stranger(status)
        return data

    def _get(self, path: str, parameters: Mapping[str, str]) -> tuple[int, bytes]:
        """Status and body. Raises HTTPError; ServerError if there is no end of it."""
        content, give_up_s = bytearray(), time.monotonic() + _MOST_S
        with self._client.stream("GET", path, params=parameters) as response:
            for chunk in response.iter_bytes():
                content += chunk
                if len(content) > MOST_BYTES or time.monotonic() > give_up_s:
                    raise ServerError(
                        f"{self.name} answers with more than {MOST_BYTES >> 20} MiB or for longer than "
                        f"{_MOST_S:g} s; ask one that scrapes fewer servers"
                    )
        return response.status_code, bytes(content)

    def _stranger(self, status: int = 200) -> ServerError:
        return ServerError(
            f"{self.name}/api/v1/query answered with status {status} and nothing that a Prometheus says; "
            "give --prometheus the address of Prometheus itself, not of a vLLM server or of Grafana"
        )


def _labels(metric: Any) -> dict[str, str]:
    """Raises TypeError, ValueError: it is no set of labels."""
    labels = dict(metric)
    if not all(isinstance(part, str) for pair in labels.items() for part in pair):
        raise TypeError("a label is no text")
    return labels


def _checked_url(url: str) -> httpx2.URL:
    checked = http_url(url)
    if checked is None:
        raise InputError(
            f"--prometheus {url!r} is no address of a server; say http://127.0.0.1:9090, with the scheme"
        )
    return checked
