"""Examples that are messages of their own."""

from __future__ import annotations

from keepwarm.diagnose.rules.example_order import ExampleOrder, example_messages
from keepwarm.diagnose.view import SiteView
from keepwarm.trace.records import JsonObject
from tests.diagnose.building import LONG, chat, request, traffic_of, view_of

PAIRS = [
    chat(f"Example {word}: {LONG[n : n + 80]}", f"{word} {n}")
    for n, word in enumerate(("one", "two", "three"))
]


def view(*orders: tuple[int, ...]) -> SiteView:
    """Single calls with the examples in these orders in front of a question each."""
    items = []
    for n, order in enumerate(orders):
        shown: list[JsonObject] = [entry for i in order for entry in PAIRS[i]]
        items.append(request(n, [*chat(system=LONG * 2), *shown, *chat(f"Ask {n}?")], session=f"s{n}"))
    return view_of(traffic_of(items))


def test_shuffled_example_messages_are_put_into_the_first_order() -> None:
    found = view((0, 1, 2), (2, 0, 1), (0, 2, 1))
    assert len(example_messages(found)) == 6
    (suspect,) = [item for item in ExampleOrder().candidates(found) if item.rows]
    assert suspect.path == "messages[1].content"
    assert suspect.rows == (1, 2)
    assert suspect.slot_type == "order"


def test_examples_in_one_order_are_left_alone() -> None:
    found = view((0, 1, 2), (0, 1, 2), (0, 1, 2))
    assert example_messages(found) == frozenset()
    assert list(ExampleOrder().candidates(found)) == []


def test_one_example_and_its_answer_are_no_set_of_examples() -> None:
    first, second = PAIRS[0]
    items = [
        request(n, [*chat(system=LONG * 2), *order, *chat(f"Ask {n}?")], session=f"s{n}")
        for n, order in enumerate(([first, second], [second, first]))
    ]
    assert example_messages(view_of(traffic_of(items))) == frozenset()
