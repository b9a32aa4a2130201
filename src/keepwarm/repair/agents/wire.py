"""JSON over HTTP to a service that may be down, slow, busy or wrong. Every way is one of four errors."""

from __future__ import annotations

import datetime as dt
import email.utils
import functools
import json
import ssl
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import httpx2

from keepwarm._errors import InputError, ServerError
from keepwarm._hosts import is_loopback
from keepwarm._json import parsed
from keepwarm._text import clip, visible
from keepwarm._urls import http_url
from keepwarm.repair.agents.base import Clock
from keepwarm.repair.redaction import Redactor

T = TypeVar("T")

KEY_VARIABLE = "DEVIN_API_KEY"
_CONNECT_S = 10.0
_MOST_ANSWER_BYTES = 8 << 20
_SHOWN_CHARACTERS = 200
_TRIES = 6
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 2.0, 60.0
_NEVER_SENT = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.PoolTimeout,
    httpx2.ProxyError,
    httpx2.UnsupportedProtocol,
)
_HINTS = {
    401: f"the key in {KEY_VARIABLE} is not accepted; check it and the version of the API that it is for",
    403: f"the key in {KEY_VARIABLE} may not do this; ask for the permission, or take another key",
    404: "there is no such thing; check the organisation and the version of the API",
}


class Refused(ServerError):
    """The service answered, and did nothing. ``status`` is why."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class NotSent(ServerError):
    """Nothing reached the service."""


class LostAnswer(ServerError):
    """It was sent, and what came of it is not known."""


class Wire:
    """One service. No redirect is followed: the key would go along. The key is in no message.

    Args:
        limit_s: seconds after which waiting for the service to recover is given up, in all.
        transport: replaces the network, for tests.
    """

    def __init__(
        self,
        base_url: str,
        key: str,
        *,
        clock: Clock,
        limit_s: float,
        timeout_s: float = 30.0,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        url = _checked_url(base_url)
        self.name = str(url).rstrip("/")
        self._key = _checked_key(key)
        self._clock = clock
        self._timeout_s = timeout_s
        self._deadline_s = clock.now_s() + limit_s
        self._client = httpx2.Client(
            base_url=url,
            headers={"Authorization": f"Bearer {self._key}", "Accept": "application/json"},
            timeout=httpx2.Timeout(timeout_s, connect=min(_CONNECT_S, timeout_s)),
            transport=transport,
            verify=_certificates(),
            follow_redirects=False,
            trust_env=not is_loopback(url.host),
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def get(self, path: str, parse: Callable[[Any], T], query: Mapping[str, Any] | None = None) -> T:
        """The answer as ``parse`` takes it, asked again while the service is busy or answers nonsense.

        Raises:
            Refused: it will not tell.
            ServerError: it did not in ``_TRIES`` attempts, or not in time.
        """
        return self._patiently(lambda: parse(self._once("GET", path, query, None)), (NotSent, LostAnswer))

    def post(self, path: str, parse: Callable[[Any], T], body: Mapping[str, Any]) -> T:
        """The answer to ``body``, which is sent again only if it surely came to nothing.

        Raises:
            Refused: it will not do it.
            NotSent: it could not be reached.
            LostAnswer: it may have done it.
        """
        return self._patiently(lambda: parse(self._once("POST", path, None, body)), (NotSent,))

    def _patiently(self, ask: Callable[[], T], again: tuple[type[ServerError], ...]) -> T:
        pause_s = _FIRST_PAUSE_S
        for attempt in range(1, _TRIES + 1):
            try:
                return ask()
            except _Busy as busy:
                error: ServerError = busy
                wait_s = busy.wait_s if busy.wait_s is not None else pause_s
            except again as failed:
                error, wait_s = failed, pause_s
            if attempt == _TRIES or self._clock.now_s() + wait_s > self._deadline_s:
                break
            self._clock.sleep(wait_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
        raise error

    def _once(
        self, method: str, path: str, query: Mapping[str, Any] | None, body: Mapping[str, Any] | None
    ) -> Any:
        where = f"{method} {self.name}{path}"
        try:
            request = self._client.build_request(method, path, params=query, json=body)
            response = self._client.send(request, stream=True)
            try:
                content = self._read(response)
            finally:
                response.close()
        except _NEVER_SENT as error:
            raise NotSent(f"{where}: not reached ({type(error).__name__}); check the network") from None
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            raise LostAnswer(f"{where}: no whole answer ({type(error).__name__})") from None
        self._check(where, response, content)
        try:
            return parsed(content)
        except ValueError:
            raise LostAnswer(f"{where}: the answer is no JSON; is this Devin's API?") from None

    def _read(self, response: httpx2.Response) -> bytes:
        """The body, unless it is endless in size or in time."""
        started_s, content = self._clock.now_s(), bytearray()
        for chunk in response.iter_bytes():
            content += chunk
            if len(content) > _MOST_ANSWER_BYTES:
                raise httpx2.ReadError("too long")
            if self._clock.now_s() - started_s > 4 * self._timeout_s:
                raise httpx2.ReadError("too slow")
        return bytes(content)

    def _check(self, where: str, response: httpx2.Response, content: bytes) -> None:
        status = response.status_code
        if 200 <= status < 300:
            return
        if status == 429:
            wait_s = _retry_after_s(response.headers.get("retry-after"))
            raise _Busy(f"{where}: too many requests (429); try again later", wait_s)
        if status >= 500 or status == 408:
            raise LostAnswer(f"{where}: the service failed ({status}); try again later")
        if 300 <= status < 400:
            raise Refused(
                f"{where}: answers with a redirect ({status}), which is not followed as the key would go "
                "along; name the right address with --api-url",
                status,
            )
        hint = _HINTS.get(status, "check the call")
        raise Refused(f"{where}: refused ({status}{self._detail(content)}); {hint}", status)

    def _detail(self, content: bytes) -> str:
        """What the service says about it, short, without anything secret."""
        try:
            document = parsed(content)
        except ValueError:
            return ""
        said = document.get("detail", document.get("error")) if isinstance(document, dict) else None
        if not said:
            return ""
        text = said if isinstance(said, str) else json.dumps(said)
        return f": {clip(visible(self.without_key(text)), _SHOWN_CHARACTERS)}"

    def without_key(self, text: str) -> str:
        """``text`` redacted; whoever answers may repeat what it was sent."""
        return Redactor().redact(text.replace(self._key, "<key>"))


class _Busy(Refused):
    """Too many requests; ``wait_s`` is what the service asks for, if it does."""

    def __init__(self, message: str, wait_s: float | None) -> None:
        super().__init__(message, 429)
        self.wait_s = wait_s


@functools.cache
def _certificates() -> ssl.SSLContext:
    """Reading them takes longer than most requests."""
    return httpx2.create_ssl_context()


def _retry_after_s(value: str | None) -> float | None:
    """Seconds, or until a date (RFC 9110, 10.2.3); None if it says neither."""
    if value is None:
        return None
    if value.strip().isascii() and value.strip().isdigit():
        return float(value)
    try:
        moment = email.utils.parsedate_to_datetime(value)
    except ValueError:
        return None
    if moment.tzinfo is None:
        return None
    return max(0.0, (moment - dt.datetime.now(dt.UTC)).total_seconds())


def _checked_url(text: str) -> httpx2.URL:
    if set("@?") & set(text):  # first, so that no message repeats them
        raise InputError("--api-url has credentials or a query in it; leave them out")
    url = http_url(text)
    if url is None:
        raise InputError(f"--api-url {text!r} is no URL of a server; name one such as https://api.devin.ai")
    if url.scheme != "https" and not is_loopback(url.host):
        raise InputError(
            f"--api-url {text!r} is not https, so the key would be readable on its way; name an https address"
        )
    return url


def _checked_key(key: str) -> str:
    key = key.strip()
    if not key:
        raise InputError(f"no key for Devin; set {KEY_VARIABLE} in the environment")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise InputError(
            f"{KEY_VARIABLE} holds no key: it has spaces or characters that no key has; copy it again"
        )
    return key
