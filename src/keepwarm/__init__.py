"""keepwarm: find out why prompts miss the prefix cache, and keep the right blocks warm."""

from __future__ import annotations

__version__ = "0.1.0"
