"""Which parameters make the engine skip its cache, as vLLM 0.32.0 fills in what is not given."""

from __future__ import annotations

import pytest

from keepwarm.trace.blocks import read_skipping_param


@pytest.mark.parametrize(
    ("params", "chat", "completion"),
    [
        ({}, None, None),
        ({"prompt_logprobs": 0}, "prompt_logprobs", "prompt_logprobs"),
        ({"prompt_logprobs": None, "logprobs": True}, None, None),
        ({"prompt_logprobs": False}, "prompt_logprobs", "prompt_logprobs"),
        ({"echo": True}, "echo", None),
        ({"echo": True, "logprobs": 0}, "echo", "echo"),
        ({"echo": True, "top_logprobs": None}, "echo", None),
        ({"echo": True, "prompt_logprobs": 3}, "prompt_logprobs", "prompt_logprobs"),
        ({"echo": False, "logprobs": 5}, None, None),
    ],
)
def test_parameters_that_skip_reads(
    params: dict[str, object], chat: str | None, completion: str | None
) -> None:
    assert read_skipping_param(params, is_chat=True) == chat
    assert read_skipping_param(params, is_chat=False) == completion
