"""Which parameters make vLLM skip its cache: by its own request models, and by what is recorded of a body."""

from __future__ import annotations

import pytest

from keepwarm.trace.blocks import read_skipping_param

BODIES: list[dict[str, object]] = [
    {},
    {"prompt_logprobs": 0},
    {"prompt_logprobs": 5},
    {"prompt_logprobs": None},
    {"prompt_logprobs": False},
    {"echo": True},
    {"echo": False},
    {"echo": True, "prompt_logprobs": None},
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "body",
    [*BODIES, {"logprobs": True}, {"echo": True, "top_logprobs": None}, {"echo": True, "logprobs": True}],
)
def test_of_a_chat(body: dict[str, object]) -> None:
    from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest

    request = ChatCompletionRequest(model="m", messages=[{"role": "user", "content": "x"}], **body)
    skips = request.to_sampling_params(16, {}).skip_reading_prefix_cache
    assert skips == (read_skipping_param(body, is_chat=True) is not None)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("body", [*BODIES, {"logprobs": 2}, {"echo": True, "logprobs": 0}])
def test_of_a_completion(body: dict[str, object]) -> None:
    from vllm.entrypoints.openai.completion.protocol import CompletionRequest

    request = CompletionRequest(model="m", prompt="x", **body)
    skips = request.to_sampling_params(16, {}).skip_reading_prefix_cache
    assert skips == (read_skipping_param(body, is_chat=False) is not None)
