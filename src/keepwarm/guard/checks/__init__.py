"""One check per file. To add one: copy the smallest neighbour and list it here."""

from __future__ import annotations

from keepwarm.guard.base import GuardCheck
from keepwarm.guard.checks.content_preserved import ContentPreserved
from keepwarm.guard.checks.golden_cases import GoldenCases
from keepwarm.guard.checks.project_tests import ProjectTests
from keepwarm.guard.checks.reuse_target import ReuseTarget
from keepwarm.guard.checks.source_scope import SourceScope
from keepwarm.guard.checks.tools_and_roles import ToolsAndRoles

__all__ = ["CHECKS"]

CHECKS: tuple[type[GuardCheck], ...] = (
    SourceScope,
    ContentPreserved,
    ToolsAndRoles,
    ReuseTarget,
    ProjectTests,
    GoldenCases,
)
"""Every check, in the order of the verdict: what is cheap and decisive first."""
