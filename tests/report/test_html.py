from __future__ import annotations

import base64
import hashlib
import html.parser
import itertools
import re

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keepwarm.diagnose.findings import Diagnosis, RequestRow, TokenFates
from keepwarm.diagnose.report.html import to_html
from keepwarm.diagnose.report.strips import strips
from keepwarm.trace.records import Skipped

VOID = {"meta", "br", "rect", "path"}
EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'><b>{{ 7*7 }}\u202e\x1b[31m"


class Strict(html.parser.HTMLParser):
    """Fails on an element that is not closed in order, and collects what a page could load or run."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def parsed(diagnosis: Diagnosis) -> Strict:
    parser = Strict()
    parser.feed(to_html(diagnosis, revealed=False).decode())
    parser.close()
    assert not parser.open
    return parser


def hostile(shown: Diagnosis) -> Diagnosis:
    finding = shown.findings[0]
    evidence = msgspec.structs.replace(
        finding.evidence, before=EVIL, values=(EVIL, "x", EVIL + "y"), after=EVIL, note=EVIL, request=EVIL
    )
    return msgspec.structs.replace(
        shown,
        input=msgspec.structs.replace(shown.input, path=EVIL, format=EVIL, skipped=(Skipped(1, EVIL),)),
        encoding=msgspec.structs.replace(shown.encoding, tokenizer=EVIL, note=EVIL),
        call_sites=tuple(msgspec.structs.replace(site, name=EVIL) for site in shown.call_sites),
        findings=(
            msgspec.structs.replace(
                finding, id=EVIL, cause=EVIL, evidence=evidence, path=EVIL, suggestion=EVIL
            ),
        ),
        rows=tuple(msgspec.structs.replace(row, id=EVIL, causes=(EVIL,)) for row in shown.rows),
    )


def test_well_formed(shown: Diagnosis) -> None:
    parsed(shown)


def test_nothing_is_loaded_from_anywhere(shown: Diagnosis) -> None:
    page = to_html(shown, revealed=False).decode()
    assert not re.findall(r"https?://|//[a-z]+\.|@import|url\(", page)
    tags = {tag for tag, _ in parsed(shown).elements}
    assert not tags & {"link", "img", "iframe", "object", "embed", "base", "form", "audio", "video"}


def test_the_policy_allows_our_script_only(shown: Diagnosis) -> None:
    page = to_html(shown, revealed=False).decode()
    script = page.split("<script>")[1].split("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src &#39;sha256-{digest}&#39;" in page or f"script-src 'sha256-{digest}'" in page


def test_hostile_text_stays_text(shown: Diagnosis) -> None:
    tags = [tag for tag, _ in parsed(shown).elements]
    page = parsed(hostile(shown))
    found = [tag for tag, _ in page.elements]
    assert found.count("script") == 1
    assert "img" not in found
    assert set(found) == set(tags)
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    assert "⟨U+202E⟩" in "".join(page.text)
    assert "\u202e" not in "".join(page.text)
    assert "{{ 7*7 }}" in "".join(page.text)


@given(st.text(st.characters(), max_size=60), st.integers(0, 5))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_stays_text(shown: Diagnosis, text: str, position: int) -> None:
    finding = shown.findings[position]
    evidence = msgspec.structs.replace(finding.evidence, before=text, values=(text,), note=text)
    odd = msgspec.structs.replace(finding, evidence=evidence, cause=text, path=text, suggestion=text)
    page = parsed(msgspec.structs.replace(shown, findings=(odd,)))
    assert {tag for tag, _ in page.elements} <= {tag for tag, _ in parsed(shown).elements}


def test_headings_captions_and_labels(shown: Diagnosis) -> None:
    elements = parsed(shown).elements
    tags = [tag for tag, _ in elements]
    levels = [int(tag[1]) for tag in tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    assert tags.count("caption") == tags.count("table")
    ids = [attributes["id"] for _, attributes in elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for tag, attributes in elements:
        if tag == "svg":
            assert attributes["role"] == "img"
            assert attributes["aria-label"]
        if tag == "th":
            assert attributes["scope"] in {"row", "col"}
        if "aria-labelledby" in attributes:
            assert attributes["aria-labelledby"] in ids


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", [0, 1])
@pytest.mark.parametrize(
    ("ink", "paper", "least"),
    [
        ("ink", "paper", 7),
        ("soft", "paper", 4.5),
        ("soft", "card", 4.5),
        ("soft", "tint", 4.5),
        ("accent", "card", 4.5),
        ("good", "card", 4.5),
        ("mark-ink", "mark", 4.5),
        ("diverged", "paper", 3),
        ("hit", "paper", 3),
    ],
)
def test_contrast(shown: Diagnosis, scheme: int, ink: str, paper: str, least: float) -> None:
    page = to_html(shown, revealed=False).decode()
    schemes = re.findall(r":root \{(.*?)\}", page, flags=re.DOTALL)
    colours = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", schemes[scheme]))
    light, dark = sorted((luminance(colours[ink]), luminance(colours[paper])), reverse=True)
    assert (light + 0.05) / (dark + 0.05) >= least


def test_nothing_found_is_said(shown: Diagnosis) -> None:
    empty = msgspec.structs.replace(shown, findings=(), rows=(), call_sites=(), tokens=TokenFates())
    assert "Nothing to fix was found." in "".join(parsed(empty).text)


def test_strips_stay_small_for_many_requests(shown: Diagnosis) -> None:
    def row(index: int) -> RequestRow:
        return msgspec.structs.replace(shown.rows[0], index=index, id=f"r{index}", call_site="cs-1")

    many = msgspec.structs.replace(shown, rows=tuple(map(row, range(5000))))
    (strip,) = strips(many)
    assert strip.width <= 160
    assert strip.bars[0].label.startswith("r0 to r")
    assert len(to_html(many, revealed=False)) < 200_000
