"""The dashboards: generated, complete and explained. tests/vllm_server asks their queries of a Prometheus."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from typing import Any

import pytest
import yaml

from keepwarm.vllm.counters import shared_counters
from keepwarm.vllm.exposition import ComputeCacheCollector
from keepwarm.vllm.serving.counters import shared_serving_counters
from keepwarm.vllm.serving.exposition import CacheWiseCollector
from tests.deploy.compose import DEPLOY, services

with warnings.catch_warnings():
    # The SDK would have the newer schema of dashboards; the older one is what every Grafana reads from files.
    warnings.filterwarnings("ignore", "Prefer using dashboardv2", DeprecationWarning)
    from scripts import generate_dashboards
    from scripts.dashboards.canary import CANARY

FOLDER = DEPLOY / "grafana"
FILES = sorted((FOLDER / "dashboards").glob("*.json"))
PAGE = DEPLOY.parent / "docs" / "how-to" / "watch.md"
METRIC = re.compile(r"\b(?:vllm:|computecache_)[a-z0-9_]+")
SUFFIXES = re.compile(r"_(?:bucket|sum|count)$")


def board(path: Path) -> dict[str, Any]:
    document = json.loads(path.read_text())
    assert isinstance(document, dict)
    return document


def panels() -> list[dict[str, Any]]:
    return [panel for path in FILES for panel in board(path)["panels"] if panel["type"] != "row"]


def metrics_in(text: str) -> set[str]:
    return {SUFFIXES.sub("", name) for name in METRIC.findall(text)}


def exposed_metrics(folder: Path) -> set[str]:
    """What the plugin shows on /metrics, by the names that a query uses."""
    shared_counters(folder).set("mode", 1)
    families = list(ComputeCacheCollector(folder).collect())
    return {f"{family.name}_total" if family.type == "counter" else family.name for family in families}


def test_what_is_committed_is_what_the_generator_makes(capsys: pytest.CaptureFixture[str]) -> None:
    status = generate_dashboards.main(["--check"])
    assert status == 0, capsys.readouterr().out
    assert {path.stem for path in FILES} == {one.name for one in generate_dashboards.DASHBOARDS}


def test_a_stale_file_is_noticed_and_rewritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generate_dashboards, "FOLDER", tmp_path)
    for path in FILES:
        (tmp_path / path.name).write_text(path.read_text().replace("Hit rate", "Hits"))
    assert generate_dashboards.main(["--check"]) == 1
    assert "Hits" in (tmp_path / "canary.json").read_text()
    assert generate_dashboards.main([]) == 0
    assert generate_dashboards.main(["--check"]) == 0


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_panels_can_be_told_apart_and_do_not_overlap(path: Path) -> None:
    document = board(path)
    ids = [panel["id"] for panel in document["panels"]]
    assert len(ids) == len(set(ids))
    cells: set[tuple[int, int]] = set()
    for panel in document["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        own = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert not cells & own, panel["title"]
        cells |= own
        letters = [target["refId"] for target in panel.get("targets", ())]
        assert len(letters) == len(set(letters))


def test_grafana_finds_the_data_source_and_the_dashboards() -> None:
    (source,) = yaml.safe_load((FOLDER / "provisioning/datasources/prometheus.yaml").read_text())[
        "datasources"
    ]
    (provider,) = yaml.safe_load((FOLDER / "provisioning/dashboards/keepwarm.yaml").read_text())["providers"]
    asked = {panel["datasource"]["uid"] for panel in panels()}
    asked |= {target["datasource"]["uid"] for panel in panels() for target in panel["targets"]}
    assert asked == {source["uid"]}
    assert source["url"] == "http://prometheus:9090"
    grafana = services()["grafana"]
    mounts = dict(volume.split(":")[:2] for volume in grafana["volumes"])
    assert mounts["./grafana/dashboards"] == provider["options"]["path"]
    for kind in ("dashboards", "datasources"):
        assert mounts[f"./grafana/provisioning/{kind}"] == f"/etc/grafana/provisioning/{kind}"
    home = grafana["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert home == f"{provider['options']['path']}/{CANARY.name}.json"


def test_every_panel_is_described() -> None:
    assert [panel["title"] for panel in panels() if not panel.get("description")] == []


def test_the_dashboards_show_everything_that_the_plugin_counts(tmp_path: Path) -> None:
    shown = set().union(*(metrics_in(path.read_text()) for path in FILES))
    assert exposed_metrics(tmp_path) - shown == set()
    # A name that the plugin does not have would be an empty panel.
    assert {name for name in shown if name.startswith("computecache_")} - exposed_metrics(tmp_path) == set()


def test_every_metric_is_explained_and_none_that_does_not_exist(tmp_path: Path) -> None:
    used = metrics_in((DEPLOY / "prometheus" / "alerts.yml").read_text())
    used |= set().union(*(metrics_in(path.read_text()) for path in FILES))
    explained = set(re.findall(r"^\| `([a-z0-9_:]+)(?:\{[^}]*\})?` \|", PAGE.read_text(), re.MULTILINE))
    assert explained == used | exposed_metrics(tmp_path)


def test_the_dashboard_of_cachewise_asks_for_what_the_plugin_counts(tmp_path: Path) -> None:
    engine, pool = shared_serving_counters(tmp_path), shared_counters(tmp_path)
    engine.set("scheduling", 1)
    engine.publish()
    pool.set("mode", 1)
    pool.set("by_session", 1)
    families = [*CacheWiseCollector(tmp_path).collect(), *ComputeCacheCollector(tmp_path).collect()]
    exposed = {sample.name for family in families for sample in family.samples}
    text = (FOLDER / "dashboards" / "cachewise.json").read_text()
    asked = set(re.findall(r"\bkeepwarm_[a-z_]+", text)) - {"keepwarm_"}
    assert {name.removesuffix("_") for name in asked} - exposed == set()
    predicted = {name for name in exposed if name.startswith("keepwarm_reuse_")}
    unused = {"keepwarm_reuse_predictions_open", "keepwarm_reuse_ratio_sum"}
    assert {name for name in predicted - asked if not name.endswith("_count")} <= unused | {
        "keepwarm_reuse_predicted_seconds_bucket",
        "keepwarm_reuse_real_seconds_bucket",
    }


def test_every_dashboard_is_named_on_the_page() -> None:
    text = PAGE.read_text()
    assert [one.title for one in generate_dashboards.DASHBOARDS if one.title not in text] == []
