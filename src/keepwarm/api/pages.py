"""The built dashboard as files: only what lies in its folder can be asked for, by its exact path."""

from __future__ import annotations

import base64
import gzip
import hashlib
import mimetypes
import re
from pathlib import Path
from typing import NamedTuple

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from keepwarm.api.library.recognise import read_bytes
from keepwarm.api.library.walk import Seen, walk
from keepwarm.api.security import POLICY

_INLINE_SCRIPT = re.compile(rb"<script(?![^>]*\ssrc=)[^>]*>(.*?)</script>", re.DOTALL)
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
}
_UNPACKED = (".png", ".jpg", ".webp", ".ico", ".woff2")
_FOREVER = "/_next/static/"  # names there hold a hash of the content
_NOT_BUILT = (
    "keepwarm: the dashboard is not in this installation. In keepwarm's repository, 'make web' builds it "
    "(Node 20) and 'pip install .' then installs it; the API answers below /api.\n"
)


class _File(NamedTuple):
    seen: Seen
    content: bytes
    packed: bytes | None
    headers: dict[str, str]


class Pages:
    """Serves ``folder``; None: there is no build, and one page says how to make it."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._seen: dict[str, Seen] = {}
        self._files: dict[str, _File] = {}
        self._look()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One call by ASGI."""
        await self._answer(scope)(scope, receive, send)

    def _answer(self, scope: Scope) -> Response:
        path: str = scope["path"]
        if scope["method"] not in ("GET", "HEAD"):
            return PlainTextResponse("keepwarm: pages are read with GET\n", 405, {"allow": "GET, HEAD"})
        if not self._seen:
            return PlainTextResponse(_NOT_BUILT, 200 if path == "/" else 404)
        packs = _takes_gzip(Headers(scope=scope))
        name = f"{path}index.html" if path.endswith("/") else path
        if file := self._file(name):
            return _response(file, 200, packs=packs)
        if f"{path}/index.html" in self._seen:
            query = scope["query_string"].decode("latin-1")
            return RedirectResponse(f"{path}/{f'?{query}' if query else ''}", 308)
        if missing := self._file("/404.html"):
            return _response(missing, 404, packs=packs)
        return PlainTextResponse("keepwarm: there is no such page\n", 404)

    def _file(self, name: str) -> _File | None:
        """What is at that path; read again if it was built anew."""
        seen, known = self._seen.get(name), self._files.get(name)
        if seen is not None and known is not None and not _changed(seen):
            return known
        if seen is None or _changed(seen):
            self._look()
            seen = self._seen.get(name)
        if seen is None:
            return None
        try:
            file = _file_of(name, seen)
        except OSError:
            return None
        self._files[name] = file
        return file

    def _look(self) -> None:
        self._files = {}
        found = [] if self._folder is None else walk(self._folder)
        self._seen = {f"/{each.relative}": each for each in found}


def built_pages() -> Path | None:
    """The dashboard that ships in the package, or the one built beside the source; None: neither."""
    shipped = Path(__file__).parent / "static"
    beside = Path(__file__).parents[3] / "web" / "out"
    return next((folder for folder in (shipped, beside) if (folder / "index.html").is_file()), None)


def script_hashes(page: bytes) -> tuple[str, ...]:
    """The inline scripts of a page, as Content-Security-Policy names them."""
    digests = (hashlib.sha256(script).digest() for script in _INLINE_SCRIPT.findall(page))
    return tuple(dict.fromkeys(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests))


def _file_of(name: str, seen: Seen) -> _File:
    content = read_bytes(seen.path)
    suffix = name[name.rfind(".") :] if "." in name else ""
    kind = _TYPES.get(suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
    cache = "public, max-age=31536000, immutable" if name.startswith(_FOREVER) else "no-cache"
    headers = {"content-type": kind, "cache-control": cache}
    if suffix == ".html":
        hashes = "".join(f" {each}" for each in script_hashes(content))
        headers["content-security-policy"] = POLICY.format(scripts=hashes)
    packed = None if suffix in _UNPACKED else gzip.compress(content, 6, mtime=0)
    if packed is not None:
        headers["vary"] = "accept-encoding"
    return _File(seen, content, packed, headers)


def _response(file: _File, status: int, *, packs: bool) -> Response:
    headers = dict(file.headers)
    if status != 200:
        headers["cache-control"] = "no-store"
    if packs and file.packed is not None:
        return Response(file.packed, status, headers | {"content-encoding": "gzip"})
    return Response(file.content, status, headers)


def _changed(seen: Seen) -> bool:
    try:
        told = Path(seen.path).lstat()
    except OSError:
        return True
    return (told.st_size, told.st_mtime_ns) != (seen.size_bytes, seen.modified_ns)


def _takes_gzip(headers: Headers) -> bool:
    """Whether the browser says that it unpacks gzip, and not with ``q=0``."""
    for part in headers.get("accept-encoding", "").lower().split(","):
        name, _, quality = part.strip().partition(";")
        if name.strip() == "gzip":
            return quality.replace(" ", "").rstrip("0.") != "q="
    return False
