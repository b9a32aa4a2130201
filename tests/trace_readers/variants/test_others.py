"""ShareGPT, vLLM's own log, Mooncake: forms that the labelled files do not show."""

from __future__ import annotations

from pathlib import Path

from keepwarm.trace.open import open_trace
from tests.trace_readers.reading import SYSTEM, USER, read


def test_sharegpt_lines_with_roles_and_system_beside(tmp_path: Path) -> None:
    turns = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]
    requests, skipped = read(
        tmp_path,
        {"conversations": turns, "system": "be brief"},
        {"conversations": [{"from": "gpt", "value": "hi"}]},
        {"conversations": [{"from": "human", "value": "hello"}, {"from": "gpt", "value": 5}]},
        expect="sharegpt",
    )
    assert [request.messages for request in requests] == [[SYSTEM, USER]]
    assert [skip.line for skip in skipped] == [2, 3]


VLLM = "INFO 12-31 23:59:58 [logger.py:1] "


def test_vllm_older_form_in_one_line(tmp_path: Path) -> None:
    text = "say 'SamplingParams(n=9)'\nand prompt_token_ids: [7]"
    requests, skipped = read(
        tmp_path,
        VLLM + "Initializing an engine with config: model='org/model', block_size=32, seed=0",
        VLLM + f"Received request cmpl-1: prompt: {text!r}, params: SamplingParams(n=1, prompt_logprobs=2, "
        "stop=[')'], guided=<object>), prompt_token_ids: [1, 2, 3], lora_request: "
        "LoRARequest(lora_name='adapter', lora_int_id=1, lora_path='/x').",
        "INFO:     127.0.0.1:5 - POST /v1/completions",
        VLLM.replace("12-31 23:59:58", "01-01 00:00:03")
        + "Received request cmpl-2: prompt: None, params: SamplingParams(n=1), prompt_token_ids: [4].",
        VLLM + "Received request cmpl-3: params: SamplingParams(n=1), lora_request: None.",
        VLLM + "Received request cmpl-4: prompt: 'cut off in the mid",
        expect="vllm-debug-log",
    )
    assert [request.prompt_text for request in requests] == [text, None]
    assert [request.prompt_token_ids for request in requests] == [[1, 2, 3], [4]]
    assert [request.model for request in requests] == ["adapter", "org/model"]
    assert [request.block_size for request in requests] == [32, 32]
    assert requests[0].params == {"n": 1, "prompt_logprobs": 2, "lora_request": "adapter"}
    assert [request.time_s for request in requests] == [0.0, 5.0]
    assert [skip.line for skip in skipped] == [5, 6]
    assert "VLLM_LOGGING_LEVEL=DEBUG" in skipped[0].reason


def test_real_mooncake_count(shared: Path) -> None:
    trace = open_trace(shared / "data" / "mooncake" / "conversation_trace.jsonl.gz")
    assert trace.format == "mooncake"
    assert sum(1 for _ in trace.requests()) == 12031
