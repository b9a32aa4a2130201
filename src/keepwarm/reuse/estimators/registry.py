"""Estimators by their names."""

from __future__ import annotations

from keepwarm.reuse.estimators.base import Estimator
from keepwarm.reuse.estimators.learned import Learned
from keepwarm.reuse.estimators.oracle import Oracle
from keepwarm.reuse.estimators.tool_mean import ToolMean
from keepwarm.reuse.estimators.ttl import Ttl
from keepwarm.reuse.estimators.unknown import Unknown

ESTIMATORS: dict[str, type[Estimator]] = {
    estimator.name: estimator for estimator in (Unknown, ToolMean, Ttl, Learned, Oracle)
}
"""Every estimator by its name. ``learned`` is made with a model, ``oracle`` with the truth."""
