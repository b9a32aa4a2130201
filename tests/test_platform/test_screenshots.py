"""The pictures of the dashboard: one of every view, light and dark, small enough for a repository."""

from __future__ import annotations

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
SCREENSHOTS = REPOSITORY / "docs" / "screenshots"
VIEWS = ("call-sites", "break-map", "prompt-diff", "capacity", "sessions", "evidence")
MOST_BYTES = 3_000_000


def size_of(picture):
    """Width and height in pixels, from the header of a PNG."""
    head = picture.read_bytes()[:24]
    assert head.startswith(b"\x89PNG\r\n\x1a\n")
    return int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")


def test_there_is_one_of_every_view_light_and_dark_and_one_on_a_narrow_screen():
    names = {picture.stem: size_of(picture) for picture in SCREENSHOTS.glob("*.png")}
    wide = {f"{view}-{scheme}" for view in VIEWS for scheme in ("light", "dark")}
    assert names.keys() == wide | {"call-sites-640"}
    assert {names[name] for name in wide} == {(1280, 800)}
    assert names["call-sites-640"] == (640, 800)


def test_together_they_are_small():
    assert sum(picture.stat().st_size for picture in SCREENSHOTS.iterdir()) < MOST_BYTES


def test_the_documentation_shows_only_pictures_that_are_there():
    page = (REPOSITORY / "docs" / "how-to" / "open-the-dashboard.md").read_text(encoding="utf-8")
    shown = [part.split(")")[0] for part in page.split("../screenshots/")[1:]]
    assert shown
    assert [name for name in shown if not (SCREENSHOTS / name).is_file()] == []
