"""The chat template for models whose own ignores tools."""

from __future__ import annotations

import json

import jinja2.sandbox
import pytest

TOOL = {
    "type": "function",
    "function": {"name": "close_period", "description": "Closes it.", "parameters": {}},
}
CALL = {"id": "c", "type": "function", "function": {"name": "close_period", "arguments": {"month": "May"}}}
SYSTEM = {"role": "system", "content": "You keep books."}
USER = {"role": "user", "content": "Close May."}


@pytest.fixture(scope="module")
def render(traffic_file):
    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    # As transformers has it: jinja2's own sorts keys and escapes for HTML.
    environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    template = environment.from_string(
        traffic_file.with_name("chat_template.jinja").read_text(encoding="utf-8")
    )
    return lambda messages, **more: template.render(messages=messages, **more)


def test_without_tools_it_prints_plain_chatml(render):
    assert render([SYSTEM, USER], add_generation_prompt=True) == (
        "<|im_start|>system\nYou keep books.<|im_end|>\n"
        "<|im_start|>user\nClose May.<|im_end|>\n<|im_start|>assistant\n"
    )


def test_tools_stand_in_front_of_the_system_text(render):
    text = render([SYSTEM, USER], tools=[TOOL])
    assert text.startswith("<|im_start|>system\n")
    assert text.index("close_period") < text.index("Closes it.") < text.index("You keep books.")
    assert text.count("<|im_start|>system") == 1
    assert "close_period" in render([USER], tools=[TOOL])


def test_calls_and_results_are_printed(render):
    called = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    result = {"role": "tool", "tool_call_id": "c", "content": '{"closed": true}'}
    text = render([SYSTEM, USER, called, result])
    assert '<tool_call>{"name": "close_period", "arguments": {"month": "May"}}</tool_call><|im_end|>' in text
    assert '<|im_start|>tool\n{"closed": true}<|im_end|>' in text


def test_a_longer_conversation_starts_with_the_shorter_one(render):
    answer = {"role": "assistant", "content": "Done."}
    assert render([SYSTEM, USER, answer, USER], tools=[TOOL]).startswith(render([SYSTEM, USER], tools=[TOOL]))


def test_the_recorded_day_loses_no_text(render, traffic):
    for record in traffic:
        body = record["body"]
        text = render(body["messages"], tools=body.get("tools"))
        for message in body["messages"]:
            assert (message["content"] or "") in text
        for tool in body.get("tools", []):
            assert tool["function"]["name"] in text
