"""Plots: PNG and SVG that parse, say what they show, and come out the same every time."""

from __future__ import annotations

import struct
import sys
import zlib
from pathlib import Path
from xml.etree import ElementTree as ET

import matplotlib as mpl
import pytest

from keepwarm._errors import InputError
from keepwarm.cache.ceiling import Ceiling
from keepwarm.cache.curve import Curve, CurvePoint, PolicyCurve, SizeForCeiling
from keepwarm.cache.plot import write_curve_plot
from keepwarm.cache.sampling import SampledCurve, SampledPoint

CAPACITIES = (100, 1000, 10_000)


def policy_curve(policy: str, rates: tuple[float, float, float], size: int | None) -> PolicyCurve:
    points = zip(CAPACITIES, rates, strict=True)
    return PolicyCurve(
        policy=policy,
        points=tuple(
            CurvePoint(capacity_blocks=capacity, hit_tokens=round(10_000 * rate), hit_rate=rate)
            for capacity, rate in points
        ),
        sizes=(
            SizeForCeiling(percent_of_ceiling=90, capacity_blocks=size),
            SizeForCeiling(percent_of_ceiling=95, capacity_blocks=None),
            SizeForCeiling(percent_of_ceiling=99, capacity_blocks=None),
        ),
    )


CURVE = Curve(
    block_size=16,
    ceiling=Ceiling(query_tokens=10_000, hit_tokens=6000, hit_rate=0.6),
    policies=(
        policy_curve("lru", (0.1, 0.3, 0.55), 9000),
        policy_curve("computecache", (0.2, 0.4, 0.5), None),
        policy_curve("belady", (0.3, 0.5, 0.6), 2000),
    ),
)
SAMPLED = SampledCurve(
    rate=0.01,
    seed=0,
    block_size=16,
    distinct_blocks=1000,
    followed_blocks=10,
    followed_uses=30,
    query_tokens=10_000,
    ceiling_hit_tokens=6000,
    points=tuple(
        SampledPoint(capacity_blocks=capacity, hit_tokens=0, hit_rate=0.3, error=0.02)
        for capacity in CAPACITIES
    ),
)


def texts(path: Path) -> list[str]:
    namespace = "{http://www.w3.org/2000/svg}"
    return ["".join(each.itertext()) for each in ET.parse(path).iter(f"{namespace}text")]


def test_a_png_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "curve.png"
    write_curve_plot(CURVE, path, title="trace.jsonl", block_bytes=1 << 21, sampled=SAMPLED)
    content = path.read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    place, kinds, pixels = 8, [], b""
    while place < len(content):
        (length,) = struct.unpack_from(">I", content, place)
        kind, data = content[place + 4 : place + 8], content[place + 8 : place + 8 + length]
        assert struct.unpack_from(">I", content, place + 8 + length) == (zlib.crc32(kind + data),)
        kinds.append(kind)
        pixels += data if kind == b"IDAT" else b""
        place += 12 + length
    width, height = struct.unpack_from(">II", content, 16)
    assert kinds[-1] == b"IEND"
    assert len(zlib.decompress(pixels)) == height * (4 * width + 1)
    assert width >= 1000


def test_an_svg_says_what_it_shows(tmp_path: Path) -> None:
    path = tmp_path / "curve.svg"
    write_curve_plot(CURVE, path, title="trace.jsonl", block_bytes=1 << 21, sampled=SAMPLED)
    found = texts(path)
    assert "Simulated prefix-cache hit rate: trace.jsonl" in found
    assert "hit rate, % of prompt tokens (simulated)" in found
    assert "capacity, usable blocks of 16 tokens" in found
    assert "ceiling 60.0%: nothing is ever evicted" in found
    assert {"lru", "computecache", "belady (knows the future)"} < set(found)
    assert "lru, estimated from 1.0% of blocks" in found
    assert {"90% of the ceiling", "95% of the ceiling", "99% of the ceiling"} < set(found)
    assert "KV cache, GiB" in found
    assert "1,000" in found


def test_without_the_size_of_a_block_there_are_no_gib(tmp_path: Path) -> None:
    path = tmp_path / "curve.svg"
    write_curve_plot(CURVE, path)
    assert "KV cache, GiB" not in texts(path)
    assert "Simulated prefix-cache hit rate" in texts(path)


def test_a_trace_without_hits_can_be_drawn(tmp_path: Path) -> None:
    ceiling = Ceiling(query_tokens=10, hit_tokens=0, hit_rate=0)
    curve = Curve(block_size=16, ceiling=ceiling, policies=(policy_curve("lru", (0, 0, 0), None),))
    write_curve_plot(curve, tmp_path / "curve.png")
    assert (tmp_path / "curve.png").stat().st_size > 0


@pytest.mark.parametrize("suffix", [".png", ".svg", ".SVG"])
def test_the_same_curve_gives_the_same_bytes_whatever_the_settings(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, again = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
    write_curve_plot(CURVE, first, title="trace")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
    with mpl.rc_context({"font.size": 30, "svg.hashsalt": "other", "axes.facecolor": "red"}):
        write_curve_plot(CURVE, again, title="trace")
        assert mpl.rcParams["font.size"] == 30
    assert first.read_bytes() == again.read_bytes()


@pytest.mark.parametrize("name", ["curve.pdf", "curve", "curve.jpg"])
def test_another_suffix_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"name a \.png or \.svg file"):
        write_curve_plot(CURVE, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_matplotlib_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r"install keepwarm\[plot\]"):
        write_curve_plot(CURVE, tmp_path / "curve.png")


def test_a_failed_write_leaves_nothing_and_keeps_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "curve.svg"
    path.write_text("old")

    def full(*_arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(InputError, match="No space left on device"):
        write_curve_plot(CURVE, path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot write") as caught:
        write_curve_plot(CURVE, tmp_path / "none" / "curve.png")
    assert "\n" not in str(caught.value)
