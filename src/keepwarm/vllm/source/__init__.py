"""The source installer: ComputeCache in a vLLM checkout, for people who build their own image."""

from __future__ import annotations

from keepwarm.vllm.source.installer import Installation, Status, install, status, uninstall

__all__ = ["Installation", "Status", "install", "status", "uninstall"]
