"""A stand-in for a language model: same wire format, same answers every time, no network."""

from __future__ import annotations

from helpdesk.scripted.model import ScriptedModel

__all__ = ["ScriptedModel"]
