"""Tools of the back office and the registry that offers them to the model."""

from __future__ import annotations

from helpdesk.tools.registry import ToolRegistry

__all__ = ["ToolRegistry"]
