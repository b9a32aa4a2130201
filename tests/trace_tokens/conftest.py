"""Renderers, tokenizers and a sample of the labelled traffic."""

from __future__ import annotations

from pathlib import Path

import pytest

from keepwarm.trace.open import open_trace
from keepwarm.trace.records import Request
from keepwarm.trace.render import Renderer, builtin_renderer, load_renderer
from keepwarm.trace.tokens import Tokenizer, load_tokenizer

TOKENIZERS = ("built-in", "qwen3", "llama3_1", "llama2", "gemma3", "gpt4o", "deepseek_v3", "gptoss")
WITH_TEMPLATE = ("qwen3", "llama3_1", "deepseek_v3", "gemma3")
CASE_TEMPLATES = ("template-clock-1", "template-clock-2", "template-history-1", "template-history-2")
TEMPLATES = ("built-in", *WITH_TEMPLATE, *CASE_TEMPLATES)
_PER_FILE = 3


@pytest.fixture(scope="session")
def traffic(shared: Path) -> list[Request]:
    """First, middle and last request of every labelled trace."""
    found: list[Request] = []
    for folder in ("breaks", "healthy", "secrets"):
        for path in sorted((shared / "cases" / folder).glob("*.jsonl*")):
            requests = list(open_trace(path).requests())
            found += requests[:: max(1, (len(requests) - 1) // (_PER_FILE - 1))]
    assert len(found) > 100
    return found


@pytest.fixture(scope="session", params=TEMPLATES)
def renderer(request: pytest.FixtureRequest, shared: Path, test_tokenizers: Path) -> Renderer:
    name: str = request.param
    if name == "built-in":
        return builtin_renderer()
    if name in WITH_TEMPLATE:
        return load_renderer(test_tokenizers / name)
    return load_renderer(shared / "cases" / "breaks" / f"{name}.jinja")


@pytest.fixture(scope="session", params=TOKENIZERS)
def tokenizer(request: pytest.FixtureRequest, test_tokenizers: Path) -> Tokenizer:
    name: str = request.param
    return load_tokenizer(None if name == "built-in" else str(test_tokenizers / name))
