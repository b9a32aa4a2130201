"""The figures that docs/design/redaction.md states, by the command that prints them."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.made_secrets import make
from scripts.redaction_report import leaks, report


@pytest.fixture(scope="module")
def figures(shared: Path) -> dict[str, object]:
    return report(2000, 20260302, shared)


def test_recall_over_2000_secrets(figures: dict[str, object]) -> None:
    assert figures["missed"] == []
    assert float(str(figures["recall"])) >= 0.99


def test_precision(figures: dict[str, object]) -> None:
    assert float(str(figures["precision_by_characters"])) >= 0.98
    for corpus in ("ordinary_prompts", "ordinary_pages"):
        found = figures[corpus]
        assert isinstance(found, dict)
        assert found["characters"] > 50_000
        assert found["covered_per_100000_characters"] <= 5, found["examples"]


def test_the_judge_sees_a_leak() -> None:
    """A report that cannot fail would say nothing: unredacted, every secret leaks."""
    missed = [made for made in make(400, 7) if not leaks(made.plain, made.frame, made.text)]
    assert missed == []


def test_half_a_key_is_a_leak() -> None:
    assert leaks("sk-proj-abcdefghijklmnop0123456789", "", "key sk-proj-abcdefgh<key-1>")
    assert not leaks("sk-proj-abcdefghijklmnop0123456789", "", "key <key-1>")


def test_the_page_states_these_figures(figures: dict[str, object], repository: Path) -> None:
    page = (repository / "docs" / "design" / "redaction.md").read_text()
    assert f"| secrets | {figures['secrets']:,} |" in page
    assert f"| recall | {figures['recall']:.1%} |" in page
    assert f"part of a secret | {figures['precision_by_characters']:.1%} |" in page
    bare = figures["recall_where_nothing_gives_it_away"]
    prompts = figures["ordinary_prompts"]
    assert isinstance(bare, dict)
    assert isinstance(prompts, dict)
    for kind, recall in bare.items():
        assert f"| {kind} | {recall:.1%} |" in page
    assert f"({prompts['texts']} texts, {prompts['characters']:,} characters)" in page
    assert sum(prompts["covered"].values()) == 1
