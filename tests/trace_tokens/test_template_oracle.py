"""Our text is what transformers renders from the same conversation."""

from __future__ import annotations

import datetime as dt
from typing import Any

import jinja2
import pytest
from transformers.utils import chat_template_utils

from keepwarm._errors import TemplateError
from keepwarm.trace.records import Request
from keepwarm.trace.render import Renderer, load_renderer
from tests.trace_tokens.contract import chat, check_spans


def oracle(renderer: Renderer, source: str, request: Request, monkeypatch: pytest.MonkeyPatch) -> str:
    """What transformers makes of it, its clock at the request's time."""
    now = dt.datetime.fromtimestamp(request.time_s or 0.0, dt.UTC).replace(tzinfo=None)

    class Clock(dt.datetime):
        @classmethod
        def now(cls, tz: dt.tzinfo | None = None) -> Any:
            return now

    monkeypatch.setattr(chat_template_utils, "datetime", Clock)
    kwargs = request.params.get("chat_template_kwargs", {})
    texts, _ = chat_template_utils.render_jinja_template(
        [renderer.conversation(request)],
        tools=request.tools or None,
        chat_template=source,
        add_generation_prompt=True,
        **{**renderer.special_tokens, **kwargs},
    )
    return str(texts[0])


def refusal(renderer: Renderer, request: Request) -> str:
    """Why the request cannot be rendered; nothing if it can."""
    try:
        renderer.text(request)
    except TemplateError as error:
        return str(error)
    return ""


def test_text_is_the_oracles_and_spans_hold(
    renderer: Renderer, traffic: list[Request], monkeypatch: pytest.MonkeyPatch
) -> None:
    rendered_some = 0
    for request in traffic:
        ours = refusal(renderer, request)  # and lets it find out how the template takes arguments
        try:
            expected = oracle(renderer, renderer.source, request, monkeypatch)
        except jinja2.TemplateError as error:
            theirs = str(error)
        else:
            theirs = ""
        assert theirs in ours if theirs else not ours
        if theirs:
            continue
        rendered_some += 1
        rendered = renderer.render(request)
        assert rendered.text == expected == renderer.text(request)
        check_spans(request, rendered)
    assert rendered_some > 50


SNIPPETS = {
    "generation block": (
        "{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}{% endfor %}"
    ),
    "loop controls": (
        "{% for m in messages %}{% if loop.index > 2 %}{% break %}{% endif %}{{ m.role }}{% endfor %}"
    ),
    "blocks are trimmed": "  {% if true %}\n  x\n  {% endif %}\n{{ messages[0].content }}\n",
    "tojson with options": (
        "{{ tools | tojson(indent=2) }}{{ tools | tojson(separators=(',', ':'), sort_keys=true) }}"
    ),
    "tojson of what is made here": (
        "{{ {'b': messages[0].content, 'a': [1, none, 1.5]} | tojson(sort_keys=true) }}"
    ),
    "ensure_ascii": "{{ messages | tojson(ensure_ascii=true) }}",
    "documents": "{{ documents }}{{ bos_token }}",
    "macro": "{% macro f(x) %}<{{ x }}>{% endmacro %}{{ f(messages[1].content) }}{{ f('y') | upper }}",
    "call block": (
        "{% macro f() %}[{{ caller() }}]{% endmacro %}{% call f() %}{{ messages[0].content }}{% endcall %}"
    ),
    "set block": "{% set x %}a{{ messages[0].content }}b{% endset %}{{ x | trim('a') ~ x }}",
    "filter block": "{% filter replace('e', 'EE') %}{{ messages[1].content }}{% endfilter %}",
    "formats": "{{ '%s|%5s' % (messages[0].role, 'x') }}{{ '{0}-{a}'.format(messages[1].content, a=1) }}",
    "format filter": "{{ '%s and %(a)s' | replace('%(a)s', '') | format(messages[0].content) }}",
    "escapes and safe": "{{ (messages[0].content | safe) + '<b>' }}{{ messages[0].content | e }}",
    "text methods": "{{ messages[0].content.split()[0].title().center(20) }}{{ messages[1].content[::-1] }}",
    "joins": "{{ messages | map(attribute='content') | join(', ') }}{{ '-'.join(['a', messages[0].role]) }}",
    "indent": (
        "{{ messages[1].content | indent(3, first=true, blank=true) }}{{ messages[1].content | indent }}"
    ),
    "printed objects": "{{ messages[0] }}{{ tools }}{{ messages[2].tool_calls[0].function.arguments }}",
    "tests": (
        "{{ messages[0].content is string }}{{ messages[0] is mapping }}{{ messages[2].nothing is defined }}"
    ),
    "members named like methods": (
        "{{ messages[0].items() | list | length }}{{ messages[3].get('tool_call_id') }}"
    ),
    "rest of the filters": (
        "{{ messages[1].content | wordwrap(9) | truncate(30) | capitalize | reverse | list }}"
    ),
}


@pytest.mark.parametrize("name", SNIPPETS)
def test_features_of_templates(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    renderer = load_renderer(SNIPPETS[name])
    request = chat(
        {"role": "system", "content": "Be <brief> & kind, é\u4e2d."},
        {"role": "user", "content": "  One line.\n\nAnother 'line'\twith \"quotes\".\n"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "f", "arguments": '{"b": [1, 2.50, "x"], "a": {"é": null}}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "done"}]},
        tools=[{"type": "function", "function": {"name": "f", "description": 'A "tool".', "parameters": {}}}],
        params={"documents": None},
    )
    rendered = renderer.render(request)
    assert rendered.text == oracle(renderer, SNIPPETS[name], request, monkeypatch) == renderer.text(request)
    check_spans(request, rendered)
