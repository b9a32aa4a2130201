"""Who carries a task out: a coding agent in the cloud, or any coding command on this machine.

- ``base``: the protocol, what is handed over and what comes back; ``run``: one task from start to end
- ``devin``: sessions of Devin; ``devin_api``, ``opening``, ``wire``, ``ledger`` and ``authorization`` are
  its parts
- ``command``: a command in a working tree of its own; ``worktree``, ``child`` and ``scope`` are its parts
"""

from __future__ import annotations

from keepwarm.repair.agents.base import Agent, AgentRun, Assignment, Followed, Outcome, Submitted

__all__ = ["Agent", "AgentRun", "Assignment", "Followed", "Outcome", "Submitted"]
