from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwarm.diagnose.slots import Skeleton, learn_skeleton, pick_variants

RULES = "Boats up to twelve metres lie at the north pier, longer ones at the quay.\nFees are due on arrival."
VALUES = st.text("abcdefghij0123456789 \n-:", max_size=30)


def values(skeleton: Skeleton, text: str) -> list[str]:
    return [text[found.start : found.end] for found in skeleton.ranges(text)]


def stable_parts(skeleton: Skeleton) -> list[str]:
    starts = [0, *(hole.end for hole in skeleton.holes)]
    ends = [*(hole.start for hole in skeleton.holes), len(skeleton.base)]
    return [skeleton.base[start:end] for start, end in zip(starts, ends, strict=True)]


def joined(skeleton: Skeleton, text: str) -> str:
    parts = stable_parts(skeleton)
    found = values(skeleton, text)
    return "".join(part + value for part, value in itertools.zip_longest(parts, found, fillvalue=""))


@given(st.lists(st.tuples(VALUES, VALUES), min_size=2, max_size=6))
def test_stable_parts_and_values_make_each_text_again(pairs: list[tuple[str, str]]) -> None:
    texts = list(dict.fromkeys(f"It is {a} now.\n{RULES}\nFor {b} only.\n{RULES}" for a, b in pairs))
    skeleton = learn_skeleton(texts)
    if skeleton is None:
        assert len(texts) < 2
        return
    for text in texts:
        assert joined(skeleton, text) == text


@given(st.lists(VALUES, min_size=2, max_size=5, unique=True), VALUES, VALUES)
def test_ranges_of_a_text_never_seen_are_in_order_and_inside(seen: list[str], a: str, b: str) -> None:
    skeleton = learn_skeleton([f"{value}.\n{RULES}\nAsked by {value}.\n{RULES}" for value in seen])
    assert skeleton is not None
    unseen = f"{a}.\n{RULES[: len(b) * 2]}\nAsked by {b}.\n{RULES}"
    end = 0
    for found in skeleton.ranges(unseen):
        assert end <= found.start <= found.end <= len(unseen)
        end = found.end


def test_slots_have_their_stable_surroundings() -> None:
    skeleton = learn_skeleton(
        [f"Time {t}.\n{RULES}\nCaller {c}." for t, c in (("08:12", "Ann"), ("09:30", "Bo"))]
    )
    assert skeleton is not None
    assert [skeleton.before(n)[-9:] for n in range(2)] == ["Time ", "l.\nCaller "[-9:]]
    assert [skeleton.after(n)[:8] for n in range(2)] == [".\nBoats ", "."]
    assert values(skeleton, f"Time 11:59.\n{RULES}\nCaller Cy.") == ["11:59", "Cy"]


def test_an_empty_value_is_a_value() -> None:
    skeleton = learn_skeleton([f"{RULES}{extra}\nEnd of the rules." for extra in ("", "\nClosed on Sunday.")])
    assert skeleton is not None
    assert values(skeleton, f"{RULES}\nEnd of the rules.") == [""]
    assert values(skeleton, f"{RULES}\nOpen.\nEnd of the rules.")[0].strip() == "Open."


@pytest.mark.parametrize(
    "texts",
    [
        [RULES],
        ["What does a berth cost?", "Is the crane free at noon on Monday, or only later?"],
        ["short 1", "short 2"],
    ],
)
def test_without_a_stable_text_there_is_no_skeleton(texts: list[str]) -> None:
    assert learn_skeleton(texts) is None


@pytest.mark.parametrize("separator", [", ", "\n", "; ", "\n- "])
def test_a_shuffled_list_is_one_slot(separator: str) -> None:
    items = ["north pier", "quay", "slip", "crane", "mole", "buoy"]
    rng = random.Random(1)
    texts = [f"Places: {separator.join(rng.sample(items, 6))}.\n\n{RULES}" for _ in range(5)]
    skeleton = learn_skeleton(texts)
    assert skeleton is not None
    assert len(skeleton.holes) == 1
    assert sorted(values(skeleton, texts[3])[0].replace(".", "").split(separator)) == sorted(items)


def test_two_values_that_do_not_trade_places_stay_two_slots() -> None:
    texts = [
        f"Caller {c}, boat {b}, welcome.\n{RULES}"
        for c, b in (("Ann", "Sula"), ("Bo", "Tern"), ("Cy", "Gull"))
    ]
    skeleton = learn_skeleton(texts)
    assert skeleton is not None
    assert values(skeleton, texts[1]) == ["Bo", "Tern"]


@pytest.mark.parametrize("count", [0, 1, 2, 40, 41, 1000])
def test_the_picked_variants_are_bounded_spread_and_begin_with_the_first(count: int) -> None:
    picked = pick_variants(count)
    assert picked == sorted(set(picked))
    assert len(picked) == min(count, 40)
    assert picked[:1] == [0][:count]
    assert all(0 <= index < count for index in picked)
    if count > 40:
        assert max(b - a for a, b in itertools.pairwise(picked)) <= -(-count // 40) + 1
