"""The entry point ``vllm.general_plugins`` of keepwarm."""

from __future__ import annotations


def register() -> None:
    """Called by vLLM in each of its processes."""
