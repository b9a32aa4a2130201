"""The page is one file that fetches nothing, runs nothing and shows recorded text harmlessly."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from keepwarm.evidence.page import Figure, Mark, Page, Section, Table, to_html


class Tags(HTMLParser):
    """Every tag with its attributes, and the text between them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("name", ["before", "comparison"])
def test_it_stands_alone(kept: Path, name: str) -> None:
    page = (kept / name / "evidence.html").read_text()
    parsed = Tags(page)
    assert not {"script", "link", "img", "iframe", "a", "form", "object"} & {tag for tag, _ in parsed.tags}
    assert not any({"src", "href", "onclick", "onload"} & attributes.keys() for _, attributes in parsed.tags)
    assert "url(" not in page
    assert "@import" not in page
    policy = next(a["content"] for tag, a in parsed.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy == "default-src 'none'; style-src 'unsafe-inline'"


def test_the_page_of_a_run_shows_its_figures(kept: Path) -> None:
    text = Tags((kept / "after" / "evidence.html").read_text()).text
    assert "Measured replay: after" in text
    assert re.search(r"\d\d\.\d%", text)
    assert "vllm:prefix_cache_hits_total" in text
    assert "r8" in text


def test_the_page_of_a_comparison_shows_the_boundary(kept: Path) -> None:
    text = Tags((kept / "comparison" / "evidence.html").read_text()).text
    assert "TTFT was measured on a CPU" in text
    assert "residual +0.00 points" in text


def test_hostile_text_is_text() -> None:
    hostile = "<script>alert(1)</script>\x1b[31m\u202e"
    page = Page(
        title=hostile,
        verdict=hostile,
        figures=(Figure(hostile, hostile, hostile),),
        sections=(
            Section(
                hostile,
                facts=((hostile, hostile),),
                sentences=(hostile,),
                table=Table((hostile,), ((hostile,),)),
                marks=(Mark(0.5, 0.5, "a", hostile),),
                caption=hostile,
            ),
        ),
        warnings=(hostile,),
    )
    html = to_html(page).decode()
    assert "<script" not in html
    assert not re.search("[\x1b\u202e]", html)


def test_many_marks_are_thinned() -> None:
    marks = tuple(Mark(number / 9_999, 0.5, "a", str(number)) for number in range(10_000))
    html = to_html(Page("t", "v", (), (Section("strip", marks=marks),))).decode()
    assert html.count("<circle") == 2_000


def test_long_tables_are_cut_and_say_so() -> None:
    table = Table(("n",), tuple((str(number),) for number in range(700)))
    html = to_html(Page("t", "v", (), (Section("rows", table=table),))).decode()
    assert html.count("<td") == 500
    assert "The first 500 of 700" in html
