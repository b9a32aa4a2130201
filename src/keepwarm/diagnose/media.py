"""Whether two pictures, sounds or films are the same in other bytes."""

from __future__ import annotations

import base64
import binascii
import re
import struct
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import urlsplit

_PNG = b"\x89PNG\r\n\x1a\n"
_MAX_PIXEL_BYTES = 64 << 20
_MOST_COMPARED_BYTES = 8 << 20  # undoing filters takes a second for one or two million
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def media_url(part: Any) -> str | None:
    """The address or data URL of a picture, sound or film in a content list."""
    if not isinstance(part, dict):
        return None
    for key in ("image_url", "video_url", "audio_url", "input_audio", "image"):
        value = part.get(key)
        if isinstance(value, dict):
            value = value.get("url") or value.get("data")
        if isinstance(value, str):
            return value
    return None


def media_path(part: Any) -> str:
    """The path below a content part at which its address stands."""
    for key in ("image_url", "video_url", "audio_url"):
        value = part.get(key)
        if isinstance(value, dict):
            return f"{key}.url"
        if isinstance(value, str):
            return key
    return "input_audio.data" if "input_audio" in part else "image"


def same_media(a: str, b: str) -> float:
    """Confidence that two addresses show the same thing: 0 for plainly different ones.

    PNG pictures are compared by their unfiltered pixel rows, others and very large ones by size;
    an address that only changes its query, or the folder above an equal file name, names the same file.
    """
    if a == b:
        return 1.0
    a_bytes, b_bytes = _payload(a), _payload(b)
    if a_bytes is None or b_bytes is None:
        return _same_file(a, b) if a_bytes is b_bytes is None else 0.0
    a_png, b_png = _read_png(a_bytes), _read_png(b_bytes)
    if a_png is not None and b_png is not None:
        return _same_picture(a_png, b_png)
    a_size, b_size = _jpeg_size(a_bytes), _jpeg_size(b_bytes)
    if a_size is not None and b_size is not None:
        return 0.8 if a_size == b_size else 0.0
    return 0.5


def _same_file(a: str, b: str) -> float:
    first, second = urlsplit(a), urlsplit(b)
    if first.netloc != second.netloc or not first.path:
        return 0.0
    if first.path == second.path:
        return 0.9
    name = first.path.rpartition("/")[2]
    return 0.6 if "." in name and name == second.path.rpartition("/")[2] else 0.0


def _payload(url: str) -> bytes | None:
    """The bytes of a data URL, or of base64 by itself, as sound comes; ``None`` for an address."""
    is_data_url = url.startswith("data:")
    if not is_data_url and _ADDRESS.match(url):
        return None
    try:
        return base64.b64decode(url.partition(",")[2] if is_data_url else url, validate=not is_data_url)
    except (binascii.Error, ValueError):
        return b"" if is_data_url else None


class _Png(NamedTuple):
    header: bytes
    colours: bytes  # palette and transparency
    rows: bytes  # filtered


def _read_png(data: bytes) -> _Png | None:
    """The parts of a PNG that decide what it shows; ``None`` where it cannot be read."""
    if not data.startswith(_PNG):
        return None
    header, colours, packed, at = b"", b"", b"", len(_PNG)
    while at + 8 <= len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        header = body if kind == b"IHDR" else header
        colours += kind + body if kind in (b"PLTE", b"tRNS") else b""
        packed += body if kind == b"IDAT" else b""
        at += 12 + length
    try:
        png = _Png(header, colours, zlib.decompressobj().decompress(packed, _MAX_PIXEL_BYTES))
        next(_pixel_rows(png.rows[:1], png.header), None)  # so that comparing does not fail
    except (zlib.error, struct.error, IndexError, KeyError):
        return None
    return png


def _same_picture(a: _Png, b: _Png) -> float:
    if (a.header, a.colours, len(a.rows)) != (b.header, b.colours, len(b.rows)):
        return 0.0
    # Undoing filters is slow and hardly ever needed: most pictures come from one encoder.
    if a.rows == b.rows:
        return 0.98
    if len(a.rows) > _MOST_COMPARED_BYTES:
        return 0.8
    pairs = zip(_pixel_rows(a.rows, a.header), _pixel_rows(b.rows, b.header), strict=True)
    return 0.98 if all(first == second for first, second in pairs) else 0.0


def _pixel_rows(raw: bytes, header: bytes) -> Iterator[bytes]:
    """Pixel bytes row by row (RFC 2083, section 6); an interlaced picture as it is, in one."""
    width, _height, depth, colour, _c, _f, interlaced = struct.unpack(">IIBBBBB", header)
    if interlaced:
        yield raw
        return
    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colour]
    step = max(1, channels * depth // 8)
    row_bytes = (width * channels * depth + 7) // 8
    above = bytearray(row_bytes)
    for start in range(0, len(raw), row_bytes + 1):
        row = bytearray(raw[start + 1 : start + 1 + row_bytes])
        _undo(raw[start], row, above, step)
        yield bytes(row)
        above = row


def _undo(kind: int, row: bytearray, above: bytearray, step: int) -> None:
    for i in range(len(row)):
        left = row[i - step] if i >= step else 0
        up = above[i]
        corner = above[i - step] if i >= step else 0
        if kind == 1:
            row[i] = (row[i] + left) & 255
        elif kind == 2:
            row[i] = (row[i] + up) & 255
        elif kind == 3:
            row[i] = (row[i] + (left + up) // 2) & 255
        elif kind == 4:
            guess = left + up - corner
            nearest = min((left, up, corner), key=lambda value: abs(guess - value))
            row[i] = (row[i] + nearest) & 255


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    """Width and height from a JPEG's frame header."""
    if not data.startswith(b"\xff\xd8"):
        return None
    at = 2
    while at + 9 < len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height
        (length,) = struct.unpack(">H", data[at + 2 : at + 4])
        at += 2 + length
    return None
