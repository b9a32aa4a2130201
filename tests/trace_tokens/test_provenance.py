"""Where the characters of a prompt come from."""

from __future__ import annotations

from typing import Any

import pytest

from keepwarm._errors import TemplateError
from keepwarm.trace.prompt import Origin
from keepwarm.trace.records import Request
from keepwarm.trace.render import Renderer, builtin_renderer, load_renderer
from tests.trace_tokens.contract import chat, check_spans

TOOL = {
    "type": "function",
    "function": {
        "name": "find_booking",
        "description": 'Finds a booking by its "number".\nSlow.',
        "parameters": {"type": "object", "properties": {"code": {"type": "string", "enum": ["A", "B"]}}},
    },
}


def pieces(renderer: Renderer, request: Request) -> list[tuple[str, str | None, int]]:
    rendered = renderer.render(request)
    check_spans(request, rendered)
    assert rendered.text == renderer.text(request)
    return [(rendered.text[s.start : s.end], s.path, s.value_start) for s in rendered.spans]


def test_builtin_template_names_every_value() -> None:
    request = chat(
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Find it"},
        {
            "role": "assistant",
            "reasoning_content": "Hm.",
            "content": "",
            "tool_calls": [{"id": "1", "function": {"name": "find_booking", "arguments": '{"code":"A"}'}}],
        },
        {"role": "tool", "content": "none"},
        tools=[TOOL],
    )
    found = pieces(builtin_renderer(), request)
    copies = {path: text for text, path, start in found if start >= 0}
    assert copies["messages[0].content"] == "Be kind."
    assert copies["messages[2].reasoning_content"] == "Hm."
    assert copies["messages[2].tool_calls[0].function.name"] == "find_booking"
    assert copies["tools[0].function.name"] == "find_booking"
    assert copies["tools[0].function.parameters.properties.code.type"] == "string"
    assert copies["tools[0].function.parameters.properties.code.enum[1]"] == "B"
    assert copies["messages[2].tool_calls[0].function.arguments"] == '{"code":"A"}'
    description = [text for text, path, start in found if path == "tools[0].function.description"]
    assert description == ['"Finds a booking by its \\"number\\".\\nSlow."']


def test_origins_follow_the_role() -> None:
    request = chat(
        {"role": "developer", "content": "aaaa"},
        {"role": "assistant", "content": "bbbb"},
        {"role": "tool", "content": "cccc"},
        tools=[TOOL],
    )
    rendered = builtin_renderer().render(request)
    origins = {span.path: span.origin for span in rendered.spans}
    assert origins["messages[0].content"] is Origin.APP
    assert origins["messages[1].content"] is Origin.MODEL
    assert origins["messages[2].content"] is Origin.APP
    assert origins["tools[0].function.description"] is Origin.APP
    assert origins[None] is Origin.TEMPLATE


OPERATIONS = {
    "concatenation": ("{{ 'x' + c + 'y' }}", [("x", -1), ("hello world", 0), ("y", -1)]),
    "tilde": ("{{ 1 ~ c ~ none }}", [("1", -1), ("hello world", 0), ("None", -1)]),
    "slice": ("{{ c[2:5] ~ c[-3:] }}", [("llo", 2), ("rld", 8)]),
    "item": ("{{ c[1] }}{{ c[-1] }}", [("e", 1), ("d", 10)]),
    "strip": ("{{ c.strip('hd') }}", [("ello worl", 1)]),
    "split": ("{{ c.split(' ')[1] }}{{ c.split('o')[-1].lstrip('r') }}", [("world", 6), ("ld", 9)]),
    "rsplit": ("{{ c.rsplit('o', 1)[0] }}", [("hello w", 0)]),
    "partition": ("{{ c.partition(' ')[2] }}", [("world", 6)]),
    "replace": ("{{ c | replace('o w', '-') }}", [("hell", 0), ("-", -1), ("orld", 7)]),
    "replace by": ("{{ 'a?b'.replace('?', c) }}", [("a", -1), ("hello world", 0), ("b", -1)]),
    "join": ("{{ ['a', c] | join('+') }}", [("a+", -1), ("hello world", 0)]),
    "method join": ("{{ '+'.join([c, 'a']) }}", [("hello world", 0), ("+a", -1)]),
    "percent": ("{{ 'a %s b' % c[:2] }}", [("a ", -1), ("he", 0), (" b", -1)]),
    "format": ("{{ '{}/{x}'.format(c[:1], x=c[1:2]) }}", [("h", 0), ("/", -1), ("e", 1)]),
    "format filter": ("{{ '%s%s' | format(c[:1], c[4:5]) }}", [("h", 0), ("o", 4)]),
    "macro": (
        "{% macro m(x) %}<{{ x }}>{% endmacro %}{{ m(c) }}",
        [("<", -1), ("hello world", 0), (">", -1)],
    ),
    "set block": ("{% set x %}.{{ c }}{% endset %}{{ x[3:6] }}", [("llo"[:0] + "llo", 2)]),
    "namespace": ("{% set n = namespace(t='') %}{% set n.t = n.t + c %}{{ n.t }}", [("hello world", 0)]),
    "upper": ("{{ c | upper }}", [("HELLO WORLD", -1)]),
    "indent": ("{{ (c ~ '\n' ~ c[:2]) | indent(2) }}", [("hello world", 0), ("\n  ", -1), ("he", 0)]),
    "trim": ("{{ c | trim('h') }}", [("ello world", 1)]),
    "json": ("{{ c | tojson }}", [('"', -1), ("hello world", 0), ('"', -1)]),
    "repeat": ("{{ c[:2] * 2 }}", [("he", 0), ("he", 0)]),
    "last": ("{{ messages | map(attribute='content') | list | last }}", [("hello world", 0)]),
    "default": ("{{ nothing | default(c) }}", [("hello world", 0)]),
    "lost and found again": ("{{ c | list | join }}", [("hello world", 0)]),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_keep_the_trace(name: str) -> None:
    source, expected = OPERATIONS[name]
    renderer = load_renderer("{% set c = messages[0].content %}" + source)
    found = pieces(renderer, chat({"role": "user", "content": "hello world"}))
    assert [(text, start) for text, _, start in found] == expected
    assert {path for _, path, start in found if start >= 0} <= {"messages[0].content"}


def test_parts_of_a_list_have_paths_of_their_own() -> None:
    request = chat(
        {"role": "user", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]}
    )
    flat = load_renderer("{{ messages[0].content }}")
    assert pieces(flat, request) == [
        ("one", "messages[0].content[0].text", 0),
        ("\n", None, -1),
        ("two", "messages[0].content[1].text", 0),
    ]
    walking = load_renderer(
        "{% for m in messages %}{% for p in m.content %}{{ p.text }};{% endfor %}{% endfor %}"
    )
    assert [piece[1] for piece in pieces(walking, request)] == [
        "messages[0].content[0].text",
        None,
        "messages[0].content[1].text",
        None,
    ]


def _call(arguments: Any) -> Request:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": arguments}}
    return chat({"role": "assistant", "content": "", "tool_calls": [call]})


_OF_CALL = "{% set f = messages[0].tool_calls[0].function %}"


def test_arguments_are_objects_for_templates_that_take_them() -> None:
    renderer = load_renderer(_OF_CALL + "{% for k, v in f.arguments.items() %}{{ k }}={{ v }};{% endfor %}")
    found = pieces(renderer, _call('{"b": "two", "a": 1}'))
    assert "".join(text for text, _, _ in found) == "b=two;a=1;"
    assert [text for text, path, _ in found if path] == ["b", "two", "a"]
    assert {path for _, path, _ in found if path} == {"messages[0].tool_calls[0].function.arguments"}


def test_arguments_are_text_for_templates_that_concatenate_them() -> None:
    renderer = load_renderer(_OF_CALL + "{{ '<' + f.arguments + '>' }}")
    text = '{"b":1,  "a":2}'
    where = "messages[0].tool_calls[0].function.arguments"
    for _ in range(2):  # the second time from memory
        assert pieces(renderer, _call(text)) == [("<", None, -1), (text, where, 0), (">", None, -1)]
    assert pieces(renderer, _call("not JSON"))[1] == ("not JSON", where, 0)


@pytest.mark.parametrize("arguments", ["", "not JSON", None, 7, "[1, 2]", '"text"', '{"a": NaN}'])
def test_odd_arguments_are_printed_as_a_server_would(arguments: Any) -> None:
    renderer = load_renderer(_OF_CALL + "{{ f.arguments | tojson }}")
    expected = {"[1, 2]": "[1, 2]", '"text"': '"text"', '{"a": NaN}': '{"a": NaN}'}.get(arguments, "{}")
    assert "".join(piece[0] for piece in pieces(renderer, _call(arguments))) == expected


def test_a_template_that_refuses_ends_in_one_line() -> None:
    renderer = load_renderer("{{ raise_exception('roles must alternate') }}")
    with pytest.raises(TemplateError, match=r"'r-1' \(line 1\): roles must alternate; check") as said:
        renderer.render(chat({"role": "user", "content": "x"}))
    assert "\n" not in str(said.value)


@pytest.mark.parametrize(
    "source",
    [
        "{{ messages[0].content.nothing.more }}",
        "{{ 1 / 0 }}",
        "{{ messages.append(1) }}",
        "{{ ''.__class__.mro() }}",
    ],
)
def test_whatever_a_template_does_wrong_is_a_template_error(source: str) -> None:
    renderer = load_renderer(source)
    for call in (renderer.render, renderer.text):
        with pytest.raises(TemplateError):
            call(chat({"role": "user", "content": "x"}))


def test_deep_nesting_is_a_template_error_or_renders() -> None:
    deep: Any = "x"
    for _ in range(3000):
        deep = [deep]
    request = chat({"role": "user", "content": "x", "extra": deep}, tools=[{"type": deep}])
    with pytest.raises(TemplateError):
        builtin_renderer().render(request)


@pytest.mark.parametrize("message", [None, "text", 7, ["role", "user"]])
def test_a_message_that_is_no_object_is_named(message: Any) -> None:
    with pytest.raises(TemplateError, match=r"messages\[0\] is"):
        builtin_renderer().render(chat(message))
