"""Diagnosis: call sites, breaks, causes, findings."""

from __future__ import annotations

from keepwarm.diagnose.engine import diagnose
from keepwarm.diagnose.options import Options, Progress

__all__ = ["Options", "Progress", "diagnose"]
