"""What each fix does to one recorded request."""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwarm.diagnose.edits import align
from keepwarm.diagnose.fixes import (
    AddTools,
    CutSlot,
    Destination,
    DropParam,
    Fix,
    FreezeClock,
    KeepHistory,
    OrderMessages,
    OrderTools,
    Place,
    ReplaceContent,
    ReplaceTools,
    SetModel,
    apply_fixes,
)
from keepwarm.diagnose.slots import Range
from keepwarm.trace.catalog import Catalog
from keepwarm.trace.records import JsonObject, Request
from tests.diagnose.building import LONG, chat, message, request, requests

SYSTEM = Place(0)


def fixed(items: Iterable[Request], *fixes: Fix) -> list[Request]:
    """All requests after a plan, in recorded order."""
    catalog = Catalog(items)
    for fix in fixes:
        fix.reset()
    return [apply_fixes(fixes, row, catalog.request(row)) for row in catalog]


def contents(item: Request) -> list[object]:
    return [entry["content"] for entry in item.messages]


def cut(place: Place, *ranges: tuple[int, int], constant: str | None = None) -> list[CutSlot]:
    return [CutSlot(place, {0: Range(*found)}, constant=constant, rows=[0]) for found in ranges]


def test_a_cut_slot_goes_to_the_end_of_the_newest_message() -> None:
    (after,) = fixed(requests([chat("Ask.", system="It is 08:12. Rules.")]), *cut(SYSTEM, (6, 11)))
    assert contents(after) == ["It is . Rules.", "Ask.\n\n08:12"]


def test_several_slots_keep_their_order_in_the_tail() -> None:
    (after,) = fixed(requests([chat("Ask.", system="a=1 b=2 rules")]), *cut(SYSTEM, (6, 7), (2, 3)))
    assert contents(after) == ["a= b= rules", "Ask.\n\n1\n2"]


def test_a_constant_stays_where_the_slot_was() -> None:
    (after,) = fixed(requests([chat("Ask.", system="b a: rules")]), *cut(SYSTEM, (0, 3), constant="a b"))
    assert contents(after) == ["a b: rules", "Ask."]


def test_blank_values_are_not_carried_to_the_end() -> None:
    (after,) = fixed(requests([chat("Ask.", system="one \n two")]), *cut(SYSTEM, (3, 6)))
    assert contents(after) == ["onetwo", "Ask."]


def test_a_slot_in_a_part_and_a_newest_message_of_parts() -> None:
    parts = [{"type": "text", "text": "at 08:12 look"}, {"type": "image_url", "image_url": {"url": "u"}}]
    (after,) = fixed(requests([[message("user", parts)]]), *cut(Place(0, 0), (3, 8)))
    assert after.messages[0]["content"] == [{"type": "text", "text": "at  look"}, parts[1]]
    assert after.messages[1:] == [message("user", "08:12")]
    assert parts[0]["text"] == "at 08:12 look"


def test_a_slot_of_a_recorded_prompt_text() -> None:
    (after,) = fixed([request(0, prompt_text="It is 08:12. Rules.")], *cut(Place(-1), (6, 11)))
    assert after.prompt_text == "It is . Rules.08:12"


@pytest.mark.parametrize("place", [Place(7), Place(0, 3), Place(1, 0), Place(-1)])
def test_a_place_that_a_request_does_not_have_is_left_alone(place: Place) -> None:
    items = requests([chat("Ask.", system="Rules.")])
    assert fixed(items, *cut(place, (0, 2)))[0] == items[0]


@given(st.text(max_size=30), st.lists(st.integers(0, 30), min_size=2, max_size=8))
def test_nothing_is_lost_when_slots_move(text: str, edges: list[int]) -> None:
    points = sorted({min(edge, len(text)) for edge in edges})
    ranges = list(zip(points[::2], points[1::2], strict=False))
    (after,) = fixed(requests([chat("Ask.", system=text)]), *cut(SYSTEM, *ranges))
    moved = [text[start:end] for start, end in ranges if text[start:end].strip()]
    blank = sum(len(text[start:end]) for start, end in ranges if not text[start:end].strip())
    head, tail = map(str, contents(after))
    assert tail == ("Ask.\n\n" + "\n".join(moved) if moved else "Ask.")
    assert len(head) + sum(map(len, moved)) + blank == len(text)


def test_a_message_is_sent_as_it_was_first_sent() -> None:
    items = requests([chat("Ask.\n", "Yes."), chat("Ask.", "Yes.", "More.")])
    catalog = Catalog(items)
    first = {catalog.rows[1].messages[0]: catalog.rows[0].messages[0]}
    fix = ReplaceContent(catalog, first, [1])
    after = apply_fixes([fix], catalog.rows[1], catalog.request(catalog.rows[1]))
    assert contents(after) == ["Ask.\n", "Yes.", "More."]


def test_examples_are_put_in_one_order_with_their_answers() -> None:
    examples = [chat("one?", "1"), chat("two?", "2"), chat("three?", "3")]
    items = requests([[*examples[0], *examples[1], *examples[2]], [*examples[2], *examples[0], *examples[1]]])
    catalog = Catalog(items)
    ranks = {content: n for n, content in enumerate(catalog.rows[0].messages)}
    units = {row.index: [[0, 1], [2, 3], [4, 5]] for row in catalog}
    fix = OrderMessages(ranks, units)
    after = [apply_fixes([fix], row, catalog.request(row)) for row in catalog]
    assert contents(after[1]) == contents(after[0]) == ["one?", "1", "two?", "2", "three?", "3"]


def keep_history(items: Sequence[Request], *moved: str) -> list[Request]:
    catalog = Catalog(items)
    rows = catalog.rows
    alignments = {row.index: (row.index - 1, align(catalog, rows[row.index - 1], row)) for row in rows[1:]}
    fix = KeepHistory(alignments, moved, [row.index for row in rows])
    return [apply_fixes([fix], row, catalog.request(row)) for row in rows]


def test_a_sliding_window_becomes_the_whole_conversation() -> None:
    texts = [f"{n} {LONG[5 * n : 5 * n + 40]}" for n in range(7)]
    whole = [chat(*texts[: 2 * n + 1], system="Log.") for n in range(4)]
    windows = [[messages[0], *messages[1:][-3:]] for messages in whole]
    assert [item.messages for item in keep_history(requests(windows))] == whole


def test_what_was_rewritten_stays_as_it_was_sent() -> None:
    first = chat("Look.", f"Seen: {LONG}", "And?")
    second = chat("Look.", "Seen: [cut]", "And?", "Fog.", "Then?")
    after = keep_history(requests([first, second]))
    assert contents(after[1]) == ["Look.", f"Seen: {LONG}", "And?", "Fog.", "Then?"]


def test_text_that_moves_with_the_turns_stays_where_it_was_first() -> None:
    first = chat(f"{LONG}\n\nWhere to?")
    second = [*chat("Where to?", "North."), message("user", f"{LONG}\n\nAnd then?")]
    after = keep_history(requests([first, second]), LONG)
    assert contents(after[1]) == [f"{LONG}\n\nWhere to?", "North.", "\n\nAnd then?"]


def test_history_forgets_when_reset() -> None:
    whole, window = chat("one", "two", "three"), chat("three", "four", "five")
    catalog = Catalog(requests([whole, window]))
    first, second = catalog.rows
    fix = KeepHistory({1: (0, align(catalog, first, second))}, (), [0, 1])
    apply_fixes([fix], first, catalog.request(first))
    grown = apply_fixes([fix], second, catalog.request(second))
    assert contents(grown) == ["one", "two", "three", "four", "five"]
    fix.reset()
    alone = apply_fixes([fix], second, catalog.request(second))
    assert contents(alone) == ["three", "four", "five"]


A, B, C = ({"function": {"name": name, "description": name * 3}} for name in "abc")


def test_tools_are_sent_as_first_written_completed_and_ordered() -> None:
    turned = {"function": dict(reversed(B["function"].items()))}
    catalog = Catalog([request(0, chat("x"), tools=[C, turned])])
    (row,) = catalog
    plan = [
        OrderTools({"a": 0, "b": 1, "c": 2}, [0]),
        AddTools({0: (A,)}, [0]),
        ReplaceTools({row.tools[1]: B}, [0]),
    ]
    after = apply_fixes(plan, row, catalog.request(row))
    assert after.tools == [A, B, C]
    assert list(after.tools[1]["function"]) == ["name", "description"]


def test_fixes_of_one_tool_keep_what_the_others_change() -> None:
    def tool(day: str, ids: str, *keys: str) -> JsonObject:
        parts = {"name": "t", "description": day, "parameters": {"enum": ["x", ids], "title": "T"}}
        return {"function": {key: parts[key] for key in keys or parts}}

    turned = ("parameters", "description", "name")
    catalog = Catalog([request(0, chat("x"), tools=[tool("Tue", "id-2", *turned)])])
    (row,) = catalog
    wanted = [tool("Mon", "id-2", *turned), tool("Tue", "id-1", *turned), tool("Tue", "id-2")]
    for order in itertools.permutations(wanted):
        plan = [ReplaceTools({row.tools[0]: version}, [0]) for version in order]
        (after,) = apply_fixes(plan, row, catalog.request(row)).tools
        assert json.dumps(after) == json.dumps(tool("Mon", "id-1"))


def test_unknown_tools_stand_behind_the_known_ones_in_their_order() -> None:
    (after,) = fixed([request(0, chat("x"), tools=[C, B, A])], OrderTools({"a": 0}, [0]))
    assert after.tools == [A, C, B]


def test_parameters_model_and_clock() -> None:
    items = [request(0, chat("x"), params={"cache_salt": "s", "seed": 1}, model="m-2")]
    (after,) = fixed(items, DropParam("cache_salt", [0]), SetModel({0: "m-1"}), FreezeClock(5.0, [0]))
    assert (after.params, after.model, after.time_s) == ({"seed": 1}, "m-1", 5.0)


def test_a_fix_changes_only_its_rows() -> None:
    items = [request(n, chat("x"), params={"cache_salt": str(n)}) for n in range(3)]
    assert [item.params for item in fixed(items, DropParam("cache_salt", [1]))] == [
        {"cache_salt": "0"},
        {},
        {"cache_salt": "2"},
    ]


def test_a_request_that_nothing_changes_is_the_very_same() -> None:
    catalog = Catalog(requests([chat("x", system="s")]))
    (row,) = catalog
    before = catalog.request(row)
    plan = [DropParam("absent", [0]), SetModel({0: before.model}), OrderTools({}, [0]), AddTools({}, [0])]
    assert apply_fixes(plan, row, before) is before


def test_recorded_token_ids_are_kept_only_with_the_text_they_stand_for() -> None:
    item = request(0, chat("Ask.", system="It is 8."), prompt_token_ids=[1, 2], params={"cache_salt": "s"})
    (salted,) = fixed([item], DropParam("cache_salt", [0]))
    assert salted.prompt_token_ids == [1, 2]
    (cut_out,) = fixed([item], *cut(SYSTEM, (6, 7)))
    assert cut_out.prompt_token_ids is None


def test_what_the_catalog_shares_is_never_mutated() -> None:
    parts = [{"type": "text", "text": "at 08:12 look"}]
    item = request(0, [message("system", "It is 8."), message("user", parts)], tools=[B, A], params={"k": 1})
    catalog = Catalog([item])
    (row,) = catalog
    before = copy.deepcopy(catalog.request(row))
    plan = [
        *cut(SYSTEM, (6, 7)),
        *cut(Place(1, 0), (3, 8)),
        KeepHistory({}, (), [0]),
        OrderTools({"a": 0, "b": 1}, [0]),
        DropParam("k", [0]),
    ]
    assert apply_fixes(plan, row, catalog.request(row)) != before
    assert catalog.request(row) == before


@pytest.mark.parametrize(
    ("place", "path"),
    [(Place(-1), "prompt"), (Place(2), "messages[2].content"), (Place(0, 3), "messages[0].content[3].text")],
)
def test_the_path_of_a_place(place: Place, path: str) -> None:
    assert place.path() == path


def test_what_stays_for_a_session_goes_to_the_top_of_its_first_turn() -> None:
    talk = [
        {"role": "system", "content": "For Ann. Rules."},
        {"role": "user", "content": "One"},
        {"role": "assistant", "content": "Two"},
        {"role": "user", "content": "Three"},
    ]

    def texts(place: Place, end: int) -> list[str]:
        cut = CutSlot(place, {0: Range(end - 2, end)}, rows=[0], to=Destination.FIRST_TURN)
        [after] = fixed([Request(line=1, id="r", messages=talk)], cut)
        return [message["content"] for message in after.messages]

    assert texts(Place(0), 7) == ["For A. Rules.", "nn\nOne", "Two", "Three"]
    assert texts(Place(1), 2) == ["For Ann. Rules.", "e\nOn", "Two", "Three"]
