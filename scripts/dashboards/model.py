"""What a dashboard is made of, apart from Grafana's JSON: rows of panels, panels of PromQL queries.

Queries group by ``role``, the label that tells the baseline from the canary
(deploy/prometheus/prometheus.yml).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple


class Query(NamedTuple):
    """One PromQL expression, and the name of its series."""

    expr: str
    legend: str = "{{role}}"


class Panel(NamedTuple):
    """Queries drawn together: over time (``series``), the last value (``stat``), what is on (``names``)."""

    title: str
    description: str
    queries: Sequence[Query]
    unit: str = "short"
    kind: Literal["series", "stat", "names"] = "series"
    most: float | None = None  # upper end of the axis
    bad_from: float | None = None  # a stat is red from here on


class Row(NamedTuple):
    """Panels of one heading, side by side as far as they fit."""

    title: str
    panels: Sequence[Panel]


class Dashboard(NamedTuple):
    """One file."""

    name: str
    title: str
    rows: Sequence[Row]


def rate(metric: str, by: str = "role", selector: str = "") -> str:
    """Per second, summed over engines and models; Grafana chooses the range, four scrapes at least."""
    return f"sum by ({by}) (rate({metric}{selector}[$__rate_interval]))"


def quantile(share: float, metric: str) -> str:
    """``share`` of the observations are below it; interpolated within a bucket."""
    return f"histogram_quantile({share:g}, {rate(f'{metric}_bucket', 'role, le')})"


def per_role(metric: str, *, by: str = "role", reduce: str = "sum") -> str:
    """The metric as it is, put together over engines."""
    return f"{reduce} by ({by}) ({metric})"
