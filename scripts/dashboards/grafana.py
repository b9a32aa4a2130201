"""A dashboard as Grafana's JSON."""

from __future__ import annotations

import itertools
from string import ascii_uppercase

from grafana_foundation_sdk.builders import common as builders
from grafana_foundation_sdk.builders import dashboard as dashboards
from grafana_foundation_sdk.builders import prometheus, stat, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import common, dashboard

from scripts.dashboards.model import Dashboard, Panel, Query

SOURCE = common.DataSourceRef(type_val="prometheus", uid="keepwarm-prometheus")
COLORS = {"baseline": "blue", "canary": "orange"}
COLUMNS = 24  # of Grafana's grid
HEIGHTS = {"stat": 4, "series": 8}


def encode(board: Dashboard) -> str:
    """Grafana's JSON, the same bytes for the same dashboard."""
    builder = (
        dashboards.Dashboard(board.title)
        .uid(f"keepwarm-{board.name}")
        .tags(["keepwarm"])
        .timezone("browser")
        .time("now-30m", "now")
        .refresh("5s")
        .tooltip(dashboard.DashboardCursorSync.CROSSHAIR)
        .link(
            dashboards.DashboardLink("keepwarm")
            .type(dashboard.DashboardLinkType.DASHBOARDS)
            .tags(["keepwarm"])
        )
    )
    ids = itertools.count(1)
    for row in board.rows:
        builder.with_row(dashboards.Row(row.title).id(next(ids)))
        for panel in row.panels:
            builder.with_panel(_panel(panel, next(ids), len(row.panels)))
    return JSONEncoder(indent=2, sort_keys=True).encode(builder.build()) + "\n"


def _panel(panel: Panel, number: int, beside: int) -> stat.Panel | timeseries.Panel:
    """``beside``: how many panels share the row."""
    built = _series(panel) if panel.kind == "series" else _stat(panel, COLUMNS // beside)
    built.id(number).title(panel.title).description(panel.description).unit(panel.unit).datasource(SOURCE)
    for letter, query in zip(ascii_uppercase, panel.queries, strict=False):
        built.with_target(_target(query, letter, at_once=panel.kind == "names"))
    return built


def _series(panel: Panel) -> timeseries.Panel:
    built = timeseries.Panel().min(0).span(COLUMNS // 2).height(HEIGHTS["series"]).fill_opacity(10)
    if panel.most is not None:
        built.max(panel.most)
    for role, color in COLORS.items():  # shades of one colour for a role, whichever panel it is in
        value = {"mode": "shades", "fixedColor": color}
        built.override_by_regexp(f"/^{role}/", [dashboard.DynamicConfigValue("color", value)])
    return built


def _stat(panel: Panel, columns: int) -> stat.Panel:
    text = common.BigValueTextMode.NAME if panel.kind == "names" else common.BigValueTextMode.AUTO
    steps = [dashboard.Threshold(value=None, color="text")]
    if panel.bad_from is not None:
        steps.append(dashboard.Threshold(value=panel.bad_from, color="red"))
    return (
        stat.Panel()
        .span(columns)
        .height(HEIGHTS["stat"])
        .text_mode(text)
        .reduce_options(builders.ReduceDataOptions().calcs(["lastNotNull"]))
        .thresholds(dashboards.ThresholdsConfig().mode(dashboard.ThresholdsMode.ABSOLUTE).steps(steps))
    )


def _target(query: Query, letter: str, *, at_once: bool) -> prometheus.Dataquery:
    """``at_once``: the value of now alone, so that a mode of an hour ago is not listed beside today's."""
    target = (
        prometheus.Dataquery().ref_id(letter).expr(query.expr).legend_format(query.legend).datasource(SOURCE)
    )
    return target.instant() if at_once else target.range()
