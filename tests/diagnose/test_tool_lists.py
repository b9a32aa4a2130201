from __future__ import annotations

import pytest

from keepwarm.diagnose.tool_lists import ToolChanges, tool_changes
from keepwarm.diagnose.tool_texts import leaves_of, path_of, string_at
from keepwarm.trace.catalog import Catalog
from keepwarm.trace.records import JsonObject
from tests.diagnose.building import chat, request


def tool(name: str, description: str = "Does it.", **more: object) -> JsonObject:
    return {"type": "function", "function": {"name": name, "description": description, **more}}


A, B, C = tool("a"), tool("b"), tool("c")


def changes(*lists: list[JsonObject], sessions: str = "") -> ToolChanges:
    """Of requests whose session is given by a letter each; all of one session by default."""
    names = sessions or "s" * len(lists)
    catalog = Catalog(request(i, chat("x"), tools=tools, session=names[i]) for i, tools in enumerate(lists))
    last: dict[str, int] = {}
    parents: dict[int, int | None] = {}
    for i, name in enumerate(names):
        parents[i] = last.get(name)
        last[name] = i
    return tool_changes(catalog, catalog.rows, parents, list(names))


def test_equal_lists_differ_in_nothing() -> None:
    found = changes([A, B], [A, B], [A, B])
    assert found.names == ("a", "b")
    assert (found.reordered, found.reserialised, found.toggled, found.texts) == ((), (), (), ())
    assert found.first_reordered is found.first_reserialised is found.first_toggled is None


def test_another_order() -> None:
    found = changes([A, B, C], [A, C, B], [C, A, B])
    assert found.reordered == (1, 2)
    assert found.first_reordered == 0
    assert found.toggled == found.reserialised == ()


def test_lists_of_one_order_that_leave_tools_out_are_in_order() -> None:
    found = changes([A, C], [A, B, C], [B, C], sessions="xyz")
    assert found.names == ("a", "b", "c")
    assert found.reordered == ()


def test_another_serialisation() -> None:
    turned = {"function": {"description": "Does it.", "name": "b"}, "type": "function"}
    found = changes([A, B], [A, turned], [A, B])
    assert found.reserialised == (1,)
    assert found.first_reserialised == 1
    (original,) = found.first_serialisation.values()
    assert list(original) == ["type", "function"]
    assert found.texts == found.reordered == found.toggled == ()


@pytest.mark.parametrize(
    ("lists", "toggled", "place"),
    [
        (([A], [A, B], [A, B]), (1,), 1),
        (([A, B, C], [A, C], [A, B, C]), (1, 2), 1),
        (([A], [], [A]), (1, 2), 0),
    ],
)
def test_tools_that_come_and_go(
    lists: tuple[list[JsonObject], ...], toggled: tuple[int, ...], place: int
) -> None:
    found = changes(*lists)
    assert found.toggled == toggled
    assert found.first_toggled == place
    for i, tools in enumerate(lists):
        assert {str(t) for t in (*tools, *found.missing[i])} == {str(t) for own in lists for t in own}
        assert not {str(t) for t in tools} & {str(t) for t in found.missing[i]}


def test_sessions_with_tools_of_their_own_toggle_nothing() -> None:
    found = changes([A], [B], [A], [B], sessions="xyxy")
    assert found.toggled == ()


def test_single_calls_are_compared_with_the_call_before() -> None:
    assert changes([A], [A, B], [A], sessions="xyz").toggled == (1, 2)


def test_a_text_that_varies_inside_a_tool() -> None:
    found = changes([A, tool("b", "On Monday.")], [A, tool("b", "On Tuesday.")])
    (text,) = found.texts
    assert text.place == 1
    assert text.path == "tools[1].function.description"
    assert dict(text.values) == {0: "On Monday.", 1: "On Tuesday."}
    assert found.reserialised == found.reordered == ()


def test_every_varying_text_of_a_tool_is_found() -> None:
    lists = [
        [tool("b", day, parameters={"enum": [day, "x"], "title": day.upper()})] for day in ("Mon", "Tue")
    ]
    paths = {text.path for text in changes(*lists).texts}
    assert paths == {
        "tools[0].function.description",
        "tools[0].function.parameters.enum",
        "tools[0].function.parameters.title",
    }


def test_odd_tools_raise_nothing() -> None:
    odd: list[JsonObject] = [{}, {"function": None}, {"name": "flat"}, {"function": {"name": 5}}]
    assert changes(odd, odd[::-1], []).toggled == (2,)


@pytest.mark.parametrize(
    "key", ["plain", "kebab-case", "$defs", "a.b", "it's", 'say "x"', "[0]", "7", "back\\slash"]
)
def test_a_path_leads_back_to_the_text_it_was_made_for(key: str) -> None:
    value = tool("a", parameters={key: {"anyOf": [{"type": "object"}, {key: "Wanted."}]}})
    (steps,) = (steps for steps, text in leaves_of(value) if text == "Wanted.")
    path = path_of(3, steps)
    assert path.startswith("tools[3].function.parameters")
    assert string_at(value, path.removeprefix("tools[3]")) == "Wanted."
