"""Anthropic's messages: forms that the labelled files do not show."""

from __future__ import annotations

from pathlib import Path

from tests.trace_readers.reading import TOOL, one


def test_anthropic_blocks(tmp_path: Path) -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    body = {
        "model": "c",
        "max_tokens": 5,
        "system": [{"type": "text", "text": "one"}, {"type": "text", "text": "two", **mark}],
        "tools": [{"name": "look", "description": "Looks.", "input_schema": TOOL["parameters"], **mark}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "go", **mark}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "s"},
                    {"type": "text", "text": "looking"},
                    {"type": "tool_use", "id": "a", "name": "look", "input": {"z": 1, "b": 2}},
                    {"type": "tool_use", "id": "b", "name": "look", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "r"}]},
                    {"type": "tool_result", "tool_use_id": "b", "is_error": True},
                    {"type": "text", "text": "and?"},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}},
                ],
            },
        ],
    }
    request = one(tmp_path, {"body": body}, "anthropic-messages")
    calls = [
        {"id": "a", "type": "function", "function": {"name": "look", "arguments": '{"z": 1, "b": 2}'}},
        {"id": "b", "type": "function", "function": {"name": "look", "arguments": "{}"}},
    ]
    assert request.messages == [
        {"role": "system", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]},
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": "looking", "reasoning_content": "hm", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "a", "content": "r"},
        {"role": "tool", "tool_call_id": "b", "content": "", "is_error": True},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "and?"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}},
            ],
        },
    ]
    assert request.tools == [{"type": "function", "function": TOOL}]
    assert request.params == {"max_tokens": 5}
