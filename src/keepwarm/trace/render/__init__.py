"""Requests rendered with a chat template, every character with its JSON path and origin."""

from __future__ import annotations

from keepwarm.trace.render.loading import builtin_renderer, load_renderer, special_tokens_of
from keepwarm.trace.render.renderer import Renderer

__all__ = ["Renderer", "builtin_renderer", "load_renderer", "special_tokens_of"]
