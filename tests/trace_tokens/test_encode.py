"""Requests to tokens with provenance."""

from __future__ import annotations

import numpy as np
import pytest

from keepwarm._errors import TemplateError
from keepwarm.trace.encode import PromptEncoder, open_encoder
from keepwarm.trace.prompt import Origin, Span
from keepwarm.trace.records import Request
from tests.trace_tokens.contract import chat, check_spans


@pytest.fixture(scope="module")
def encoder() -> PromptEncoder:
    return open_encoder()


def test_prompts_of_the_traffic(encoder: PromptEncoder, traffic: list[Request]) -> None:
    for request in traffic:
        prompt = encoder.prompt(request)
        check_spans(request, prompt.rendered)
        assert np.array_equal(prompt.ids, encoder.ids(request))
        assert len(prompt.ids) == len(prompt.char_starts)
        assert np.all(np.diff(prompt.char_starts) >= 0)
        assert prompt.char_starts[0] == 0
        assert prompt.char_starts[-1] < len(prompt.rendered.text)
        if request.prompt_token_ids is not None:
            assert prompt.ids.tolist() == request.prompt_token_ids


def test_a_recorded_prompt_is_taken_as_it_is(encoder: PromptEncoder) -> None:
    request = Request(line=1, id="r", prompt_text="<s>as it was")
    prompt = encoder.prompt(request)
    assert prompt.rendered.text == "<s>as it was"
    assert prompt.rendered.spans == (Span(0, 12, Origin.APP, "prompt", 0),)
    assert np.array_equal(encoder.ids(request), prompt.ids)
    assert encoder.prompt(Request(line=1, id="r", prompt_text="")).rendered.spans == ()


def test_recorded_token_ids_win(encoder: PromptEncoder) -> None:
    request = chat({"role": "user", "content": "Hello"}, prompt_token_ids=[5, 6, 7, 8])
    prompt = encoder.prompt(request)
    assert prompt.ids.tolist() == [5, 6, 7, 8] == encoder.ids(request).tolist()
    assert prompt.char_starts[0] == 0
    assert prompt.char_starts.tolist() == sorted(set(prompt.char_starts.tolist()))
    empty = chat({"role": "user", "content": "Hello"}, prompt_token_ids=[])
    assert len(encoder.prompt(empty).ids) == 0


@pytest.mark.parametrize("content", ["\ud800", "a\udfffb \ud83d\ude00", "\0", "\ufffe", "", "\r\n\u2028"])
def test_odd_characters_encode(encoder: PromptEncoder, content: str) -> None:
    request = chat({"role": "user", "content": content})
    prompt = encoder.prompt(request)
    check_spans(request, prompt.rendered)
    assert np.array_equal(prompt.ids, encoder.ids(request))
    assert prompt.char_starts[-1] < len(prompt.rendered.text)


def test_what_cannot_be_rendered_is_a_template_error(encoder: PromptEncoder) -> None:
    request = chat({"role": "assistant", "content": "", "tool_calls": [{"function": {"arguments": "{}"}}]})
    for call in (encoder.rendered, encoder.prompt, encoder.ids):
        assert call(request) is not None  # a missing name prints as nothing
    with pytest.raises(TemplateError):
        encoder.ids(Request(line=1, id="r", messages=["text"]))  # type: ignore[list-item]


def test_the_note_says_what_is_exact(test_tokenizers: object) -> None:
    both = open_encoder(f"{test_tokenizers}/qwen3")
    assert both.info.exact
    mixed = PromptEncoder(open_encoder()._renderer, both._tokenizer)
    assert not mixed.info.exact
    assert "--chat-template" in mixed.info.note
    assert not open_encoder().info.exact
