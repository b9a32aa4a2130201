from __future__ import annotations

import base64
import random
import struct
import zlib
from collections.abc import Callable

import pytest

from keepwarm.diagnose.media import media_path, media_url, same_media

WIDTH, HEIGHT = 9, 7
CHANNELS = {0: 1, 2: 3, 3: 1, 6: 4}


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def filtered(rows: list[bytes], kinds: list[int], step: int) -> bytes:
    """PNG rows with the filters of RFC 2083, applied by the book."""
    out, above = bytearray(), bytes(len(rows[0]))
    for row, kind in zip(rows, kinds, strict=True):
        out.append(kind)
        for i, value in enumerate(row):
            left = row[i - step] if i >= step else 0
            up, corner = above[i], above[i - step] if i >= step else 0
            guess = left + up - corner
            paeth = min(((abs(guess - v), n, v) for n, v in enumerate((left, up, corner))))[2]
            out.append((value - (0, left, up, (left + up) // 2, paeth)[kind]) & 255)
        above = row
    return bytes(out)


def png(
    seed: int = 1,
    *,
    colour: int = 2,
    kinds: list[int] | None = None,
    level: int = 6,
    extra: bytes = b"",
    cut: int = 1,
    palette: bytes = b"",
) -> str:
    rng = random.Random(seed)
    rows = [rng.randbytes(WIDTH * CHANNELS[colour]) for _ in range(HEIGHT)]
    packed = zlib.compress(filtered(rows, kinds or [0] * HEIGHT, CHANNELS[colour]), level)
    size = -(-len(packed) // cut)
    data = b"".join(chunk(b"IDAT", packed[i : i + size]) for i in range(0, len(packed), size))
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, colour, 0, 0, 0))
    colours = chunk(b"PLTE", palette) if palette else b""
    return url(b"\x89PNG\r\n\x1a\n" + header + extra + colours + data + chunk(b"IEND", b""))


def url(data: bytes, kind: str = "image/png") -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


@pytest.mark.parametrize("colour", [0, 2, 6])
@pytest.mark.parametrize("kind", [1, 2, 3, 4])
def test_other_filters_show_the_same_picture(colour: int, kind: int) -> None:
    assert same_media(png(colour=colour), png(colour=colour, kinds=[kind] * HEIGHT)) > 0.9


def test_mixed_filters_levels_chunks_and_comments_show_the_same_picture() -> None:
    others = [
        png(level=0),
        png(level=9),
        png(cut=4),
        png(extra=chunk(b"tEXt", b"Date\x002031-02-27")),
        png(kinds=[4, 3, 2, 1, 0, 4, 2], level=1, cut=3, extra=chunk(b"tIME", bytes(7))),
    ]
    assert len({png(), *others}) == 6
    for other in others:
        assert same_media(png(), other) > 0.9
        assert same_media(other, png()) == same_media(png(), other)


def test_one_pixel_makes_another_picture() -> None:
    assert same_media(png(1), png(2)) == 0.0
    assert same_media(png(colour=2), png(colour=6)) == 0.0


def test_other_colours_of_a_palette_make_another_picture() -> None:
    first, second = (png(colour=3, palette=bytes([shade] * 768)) for shade in (10, 200))
    assert same_media(first, second) == 0.0
    assert same_media(first, png(colour=3, palette=bytes([10] * 768), level=1)) > 0.9


def jpeg(width: int, height: int, filling: bytes) -> str:
    frame = b"\xff\xc0" + struct.pack(">HBHHB", 11, 8, height, width, 1) + b"\x01\x11\x00"
    comment = b"\xff\xfe" + struct.pack(">H", 2 + len(filling)) + filling
    return url(b"\xff\xd8" + comment + frame + b"\xff\xd9", "image/jpeg")


def test_other_formats_are_judged_by_their_size() -> None:
    same, other = same_media(jpeg(640, 480, b"a"), jpeg(640, 480, b"longer")), jpeg(320, 480, b"a")
    assert 0.7 < same < 0.95
    assert same_media(jpeg(640, 480, b"a"), other) < same


@pytest.mark.parametrize(
    ("a", "b", "least", "most"),
    [
        ("https://h.example/a.png?sig=1", "https://h.example/a.png?sig=2", 0.8, 1.0),
        ("https://h.example/a.png", "https://h.example/b.png", 0.0, 0.0),
        ("https://h.example/a.png", "https://other.example/a.png", 0.0, 0.0),
        ("https://h.example/a.png", "https://h.example/a.png", 1.0, 1.0),
        ("https://h.example/", png(), 0.0, 0.0),
        ("data:image/png;base64,!!!", "data:image/png;base64,%%%", 0.0, 0.6),
        ("", "data:", 0.0, 0.6),
    ],
)
def test_addresses(a: str, b: str, least: float, most: float) -> None:
    assert least <= same_media(a, b) <= most


@pytest.mark.parametrize(
    "damage", [lambda d: d[:40], lambda d: d[:-30], lambda d: d[:33] + b"\xff" * 60, lambda d: d[:8]]
)
def test_damaged_pictures_are_judged_and_never_raise(damage: Callable[[bytes], bytes]) -> None:
    whole = base64.b64decode(png().partition(",")[2])
    assert 0 <= same_media(url(damage(whole)), png()) <= 0.6


@pytest.mark.parametrize(
    ("part", "address", "path"),
    [
        ({"type": "image_url", "image_url": {"url": "u"}}, "u", "image_url.url"),
        ({"type": "image_url", "image_url": "u"}, "u", "image_url"),
        ({"type": "video_url", "video_url": {"url": "u"}}, "u", "video_url.url"),
        ({"type": "input_audio", "input_audio": {"data": "u", "format": "wav"}}, "u", "input_audio.data"),
        ({"type": "text", "text": "u"}, None, "image"),
        ("text", None, None),
        (None, None, None),
    ],
)
def test_where_a_part_keeps_its_address(part: object, address: str | None, path: str | None) -> None:
    assert media_url(part) == address
    if path is not None:
        assert media_path(part) == path


def painted(rows: list[bytes], kind: int) -> str:
    """A greyscale picture of given rows, all filtered in one way."""
    packed = zlib.compress(filtered(rows, [kind] * len(rows), 1))
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 0, 0, 0, 0))
    return url(b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", packed) + chunk(b"IEND", b""))


def test_pictures_that_differ_in_their_last_row_only_are_two_pictures() -> None:
    toolbar = [random.Random(3).randbytes(40)] * 30
    first, second = [*toolbar, bytes(40)], [*toolbar, bytes(39) + b"\x01"]
    assert same_media(painted(first, 0), painted(first, 4)) > 0.9
    assert same_media(painted(first, 0), painted(second, 4)) == 0.0
