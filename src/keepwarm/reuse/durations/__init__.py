"""How long tool calls ran, from transcripts of agents and from CSV."""

from __future__ import annotations

from keepwarm.reuse.durations.base import DurationReader
from keepwarm.reuse.durations.claude_code import ClaudeCodeDurations
from keepwarm.reuse.durations.codex import CodexDurations
from keepwarm.reuse.durations.mini_swe_agent import MiniSWEAgentDurations
from keepwarm.reuse.durations.openhands import OpenHandsDurations
from keepwarm.reuse.durations.swe_agent import SWEAgentDurations

READERS: tuple[type[DurationReader], ...] = (
    ClaudeCodeDurations,
    CodexDurations,
    MiniSWEAgentDurations,
    SWEAgentDurations,
    OpenHandsDurations,
)
"""Every reader of transcripts; a record is the first's that owns it."""
