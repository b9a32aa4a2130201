"""Who may ask, and what a browser may do with the answers: around everything that is served.

- **Host** must be a name of this server, or a page that rebinds its own name here could read answers.
- **Origin**, where a browser sends it, must be this server; what changes something needs it, or
  ``Sec-Fetch-Site: same-origin``, unless the call carries the token itself, which no other site can do.
- **Token**: in the opened URL once, then in a cookie that scripts cannot read and other sites cannot send, or
  as ``Authorization: Bearer``.
- An answer that goes wrong is one line, never a traceback.
"""

from __future__ import annotations

import hmac
import html
import os
import traceback
from collections.abc import Callable, Iterable
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, urlencode

import msgspec
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from keepwarm.api.problems import bug, kind_and_place
from keepwarm.api.schema.library import Problem

_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_OWN_NAMES = ("127.0.0.1", "localhost", "[::1]")
Say = Callable[[str], None]

POLICY = (
    "default-src 'none'; script-src 'self'{scripts}; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Content-Security-Policy; ``scripts`` are the hashes of a page's own inline scripts."""

_HEADERS = {
    "content-security-policy": POLICY.format(scripts=""),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class Refusal(NamedTuple):
    """Why a call is not answered."""

    status: int
    problem: str


class Access(NamedTuple):
    """The policy. ``authorities`` are what Host may say, in lower case; ``cookie`` is the cookie's name."""

    token: str
    authorities: frozenset[str]
    cookie: str

    @classmethod
    def of(cls, token: str, port: int, names: Iterable[str] = ()) -> Access:
        """This machine's own names at ``port``, and ``names``, which may carry a port of their own."""
        allowed = {f"{name}:{port}" for name in _OWN_NAMES}
        for name in names:
            lower = name.lower()
            allowed |= {lower} if _has_port(lower) else {lower, f"{lower}:{port}"}
        if port == 80:
            allowed |= set(_OWN_NAMES)
        return cls(token, frozenset(allowed), f"keepwarm-{port}")

    def refusal(self, method: str, path: str, headers: Headers) -> Refusal | None:
        """Why this call is not answered, None: it may be, if the token is right."""
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self.authorities:
            return Refusal(
                403,
                f"Host {', '.join(hosts)!r} is no name of this server; open the address that 'keepwarm "
                "serve' printed, or start it with --allow-host",
            )
        origins = headers.getlist("origin")
        own = {f"{scheme}://{hosts[0].lower()}" for scheme in ("http", "https")}
        if any(origin.lower() not in own for origin in origins):
            return Refusal(403, f"Origin {', '.join(origins)!r} is another site; open the dashboard itself")
        site = headers.get("sec-fetch-site", "")
        if path.startswith("/api") and site not in ("", "none", "same-origin"):
            return Refusal(
                403, f"a page of another site asks (Sec-Fetch-Site {site!r}); open the dashboard itself"
            )
        if method in _READING:
            return None
        if not origins and site != "same-origin" and not self.is_token(self._bearer(headers)):
            return Refusal(403, "a call that changes something says where it comes from; send Origin")
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json" and (kind or method != "DELETE"):
            return Refusal(400, f"Content-Type is {kind!r}; send application/json")
        return None

    def knows(self, headers: Headers) -> bool:
        """Whether the call carries the token."""
        return self.is_token(self._bearer(headers) or self._from_cookie(headers))

    def is_token(self, shown: str | None) -> bool:
        """Compared in constant time."""
        return shown is not None and hmac.compare_digest(
            shown.encode("utf-8", "surrogatepass"), self.token.encode()
        )

    def set_cookie(self) -> str:
        """The header's value; not Secure, for this is plain HTTP on one's own machine."""
        return f"{self.cookie}={self.token}; HttpOnly; SameSite=Strict; Path=/"

    def _bearer(self, headers: Headers) -> str | None:
        scheme, _, shown = headers.get("authorization", "").partition(" ")
        return shown.strip() if scheme.lower() == "bearer" else None

    def _from_cookie(self, headers: Headers) -> str | None:
        for line in headers.getlist("cookie"):
            if (found := cookie_parser(line).get(self.cookie)) is not None:
                return found
        return None


class Guard:
    """Wraps an application: nobody reaches it who may not, and nothing leaves without the headers."""

    def __init__(self, app: ASGIApp, access: Access, say: Say) -> None:
        self._app = app
        self._access = access
        self._say = say

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One call. Lifespan events pass."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            guarded = _Answer(send)
            try:
                await self._answer(scope, receive, guarded)
            except ClientDisconnect:  # whoever asked went away: nobody is to be told
                return
            except Exception as error:  # noqa: BLE001 - the last line of defence: no traceback leaves
                self._say(_told(scope, error))
                if not guarded.begun:
                    await _refuse(scope, guarded, Refusal(500, bug(error)))

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        method, path = scope["method"], scope["path"]
        if refused := self._access.refusal(method, path, headers):
            await _refuse(scope, send, refused)
        elif method in ("GET", "HEAD") and not _is_api(path) and b"token=" in scope["query_string"]:
            await self._welcome(scope, headers, send)
        elif self._access.knows(headers):
            await self._app(scope, receive, send)
        else:
            await _refuse(scope, send, _NO_TOKEN)

    async def _welcome(self, scope: Scope, headers: Headers, send: Send) -> None:
        """The first visit: a cookie, and the same address without the token."""
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        shown = [value for name, value in query if name == "token"]
        if not any(map(self._access.is_token, shown)) and not self._access.knows(headers):
            await _refuse(scope, send, _NO_TOKEN)
            return
        rest = urlencode([(name, value) for name, value in query if name != "token"])
        # One slash: with two it would be another server's address.
        place = "/" + quote(scope["path"].lstrip("/\\")) + (f"?{rest}" if rest else "")
        cookie = (b"set-cookie", self._access.set_cookie().encode())
        if headers.get("sec-fetch-site") in ("cross-site", "same-site"):
            # Opened by a link on another site: a browser would keep the cookie from where we send it on.
            await _send(send, 200, _sent_on(place), b"text/html; charset=utf-8", [cookie])
        else:
            await _send(send, 303, b"", b"text/plain", [cookie, (b"location", place.encode())])


class _Answer:
    """``send`` with the headers that every answer carries; an answer's own ones hold."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.begun = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun = True
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        try:
            await self._send(message)
        except OSError:
            raise ClientDisconnect from None


_NO_TOKEN = Refusal(
    401, "this needs the token; open the whole address that 'keepwarm serve' printed, '?token=' included"
)


def _sent_on(place: str) -> bytes:
    escaped = html.escape(place)
    refresh = f'<meta http-equiv="refresh" content="0; url={escaped}">'
    return f'<!doctype html><title>keepwarm</title>{refresh}<a href="{escaped}">Open</a>\n'.encode()


def _told(scope: Scope, error: Exception) -> str:
    """For the terminal: where it happened; the error's own words may hold recorded values."""
    if os.environ.get("KEEPWARM_DEBUG"):
        traceback.print_exception(error)
    return (
        f"a bug in keepwarm, {kind_and_place(error)}, on {scope['method']} {scope['path']}; "
        "KEEPWARM_DEBUG=1 shows more, please report it"
    )


async def _refuse(scope: Scope, send: Send, refusal: Refusal) -> None:
    if _is_api(scope["path"]):
        content, kind = msgspec.json.encode(Problem(problem=refusal.problem)), b"application/json"
    else:
        content, kind = f"keepwarm: {refusal.problem}\n".encode(), b"text/plain; charset=utf-8"
    challenge = [(b"www-authenticate", b"Bearer")] if refusal.status == 401 else []
    await _send(send, refusal.status, content, kind, challenge)


async def _send(
    send: Send, status: int, content: bytes, kind: bytes, more: Iterable[tuple[bytes, bytes]] = ()
) -> None:
    headers = [(b"content-type", kind), (b"content-length", b"%d" % len(content)), *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})


def _is_api(path: str) -> bool:
    return path == "/api" or path.startswith("/api/")


def _has_port(name: str) -> bool:
    return name.rpartition("]")[2].count(":") == 1
