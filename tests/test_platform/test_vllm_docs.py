"""The pages on ComputeCache inside vLLM say what the code says: settings, defaults, metrics, faults."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from keepwarm.vllm import counters
from keepwarm.vllm.counters import BOUNDS_NS, EVICTION_CLASSES, FAULT_KINDS, MODES, RULES, shared_counters
from keepwarm.vllm.exposition import ComputeCacheCollector
from keepwarm.vllm.fingerprints import FINGERPRINTS, VERSION
from keepwarm.vllm.settings import MODE, RULE, Settings, read_settings

REPOSITORY = Path(__file__).resolve().parents[2]
DOCS = REPOSITORY / "docs"
SETTINGS = (DOCS / "reference" / "settings.md").read_text()
METRICS = (DOCS / "reference" / "metrics.md").read_text()
PLUGIN = (DOCS / "design" / "plugin.md").read_text()
COUNTERS = (DOCS / "design" / "counters.md").read_text()
ORDER = (DOCS / "concepts" / "victim-order.md").read_text()
SETTING = re.compile(r"\bCOMPUTECACHE_[A-Z_]+\b")


def running(page: str) -> str:
    """The page as one line, so that it does not matter where lines are broken."""
    return " ".join(page.split())


def rows(page: str, header: str) -> list[list[str]]:
    """The cells of the table that begins with ``header``, without backquotes."""
    _, found, rest = page.partition(f"{header}\n")
    assert found, f"no table {header!r}"
    lines = rest.partition("\n\n")[0].splitlines()
    return [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines[1:]]


class Setting(NamedTuple):
    """A row of the table of settings."""

    name: str
    default: str  # of the rule ``boundary``
    window_default: str
    allowed: str

    @property
    def choices(self) -> list[str] | None:
        """None for a number."""
        return re.findall(r"`?(\w+)`?", self.allowed) if "," in self.allowed else None

    @property
    def bounds(self) -> tuple[float, float]:
        least, _, most = self.allowed.partition(" to ")
        return (
            (float(least), float(most)) if most else (float(self.allowed.removesuffix(" or more")), math.inf)
        )


def documented_settings() -> Iterator[Setting]:
    for name, default, allowed, _ in rows(SETTINGS, "| setting | default | allowed | what it is |"):
        boundary, _, window = default.partition(", `window`: ")
        yield Setting(name, boundary, window or boundary, allowed)


DOCUMENTED = {setting.name: setting for setting in documented_settings()}
NUMBERS = [setting for setting in DOCUMENTED.values() if setting.choices is None]


class Asked(dict[str, str]):
    """An environment that remembers what it was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def get(self, name: str, default: Any = None) -> Any:
        self.names.add(name)
        return default


def test_every_setting_is_documented_and_no_other() -> None:
    environ = Asked()
    read_settings(environ)
    assert len(environ.names) == len(Settings._fields) - 1 + len(Settings().weights)
    assert set(DOCUMENTED) == environ.names


def test_every_variable_that_the_plugin_names_is_explained() -> None:
    sources = (REPOSITORY / "src" / "keepwarm" / "vllm").rglob("*.py")
    named = {name for source in sources for name in SETTING.findall(source.read_text())}
    assert named - {"COMPUTECACHE_"} <= set(SETTING.findall(SETTINGS))


@pytest.mark.parametrize(
    "page", [*sorted(DOCS.rglob("*.md")), REPOSITORY / "README.md"], ids=lambda page: page.stem
)
def test_no_page_names_a_setting_that_is_not_there(page: Path) -> None:
    there = {*DOCUMENTED, counters.DIRECTORY}
    assert {name for name in SETTING.findall(page.read_text()) if not name.endswith("_")} <= there


def test_documented_defaults_are_those_of_the_code() -> None:
    given = {setting.name: setting.default for setting in DOCUMENTED.values()}
    assert read_settings(given) == (Settings(), [])
    window = {setting.name: setting.window_default for setting in DOCUMENTED.values()} | {RULE: "window"}
    assert read_settings(window) == (read_settings({RULE: "window"}).settings, [])


@pytest.mark.parametrize("setting", DOCUMENTED.values(), ids=lambda setting: setting.name)
def test_each_documented_default_is_what_is_taken_without_it(setting: Setting) -> None:
    assert read_settings({setting.name: setting.default}) == read_settings({})
    rule = {RULE: "window"}
    if setting.name != RULE:
        assert read_settings({setting.name: setting.window_default, **rule}) == read_settings(rule)


@pytest.mark.parametrize("setting", NUMBERS, ids=lambda setting: setting.name)
def test_documented_ranges_are_those_of_the_code(setting: Setting) -> None:
    least, most = setting.bounds
    allowed = [least] if most == math.inf else [least, most]
    beyond = [least - 1] if most == math.inf else [least - 1, most + 1]
    for value in allowed:
        assert read_settings({setting.name: f"{value:.10g}"}).warnings == []
    for text in (*(f"{value:.10g}" for value in beyond), "many", ""):
        settings, warnings = read_settings({setting.name: text})
        assert settings == Settings()
        assert len(warnings) == 1
        assert setting.name in warnings[0]


def test_documented_choices_are_those_of_the_code() -> None:
    assert DOCUMENTED[MODE].choices == list(MODES)
    assert DOCUMENTED[RULE].choices == list(RULES)
    for name in (MODE, RULE):
        settings, warnings = read_settings({name: "other"})
        assert settings == Settings()
        assert len(warnings) == 1


def test_the_start_up_line_has_all_values_in_effect() -> None:
    (line,) = re.findall(r"ComputeCache: (mode=.*) capacity_blocks=\d+$", SETTINGS, re.MULTILINE)
    assert line == Settings(mode="active").line()


def test_the_warning_shown_is_what_is_printed() -> None:
    name, value, rest = re.findall(r"ComputeCache: (COMPUTECACHE_\w+)='(.*?)' (.*)$", SETTINGS, re.MULTILINE)[
        0
    ]
    assert read_settings({name: value}).warnings == [f"{name}={value!r} {rest}"]


class Shown(NamedTuple):
    """A metric as a scrape has it."""

    kind: str
    labels: frozenset[str]


@pytest.fixture(scope="module")
def families(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What ``/metrics`` of a server with one engine has, by the name that is scraped."""
    folder = tmp_path_factory.mktemp("counters")
    engine = shared_counters(folder)
    engine.set("mode", 1)
    engine.set("rule", 1)
    engine.times_ns.append(1)
    engine.publish()
    suffix = {"counter": "_total"}
    return {f"{one.name}{suffix.get(one.type, '')}": one for one in ComputeCacheCollector(folder).collect()}


def test_every_metric_is_documented_and_no_other(families: dict[str, Any]) -> None:
    table = rows(METRICS, "| metric | type | labels | value |")
    documented = {
        name: Shown(kind, frozenset(label.strip("` ") for label in labels.split(",") if label))
        for name, kind, labels, _ in table
    }
    scraped = {
        name: Shown(family.type, frozenset().union(*(sample.labels for sample in family.samples)) - {"le"})
        for name, family in families.items()
    }
    assert documented == scraped


def values_of(family: Any, label: str) -> list[str]:
    return [sample.labels[label] for sample in family.samples]


def test_every_label_value_is_explained(families: dict[str, Any]) -> None:
    kinds = [name for name, _ in rows(METRICS, "| `kind` | where it went wrong |")]
    assert kinds == list(FAULT_KINDS) == values_of(families["computecache_faults_total"], "kind")
    classes = [name for name, _ in rows(METRICS, "| `class` | what the block held |")]
    assert (
        classes == list(EVICTION_CLASSES) == values_of(families["computecache_evicted_blocks_total"], "class")
    )
    for label in ("mode", "rule"):
        there = values_of(families[f"computecache_effective_{label}"], label)
        assert sorted(there) == sorted(set(re.findall(rf'{label}="(\w+)"', METRICS)))


def test_the_histogram_has_the_documented_bounds() -> None:
    (text,) = re.findall(r"bounds of ([\d, ]+) µs, ([\d, ]+and \d+) ms", running(METRICS))
    in_us, in_ms = ([int(number) for number in re.findall(r"\d+", part)] for part in text)
    assert [us * 1_000 for us in in_us] + [ms * 1_000_000 for ms in in_ms] == list(BOUNDS_NS)


def test_what_follows_from_each_fault_is_written_down() -> None:
    table = rows(PLUGIN, "| what goes wrong | `kind` | what happens |")
    assert {kind for _, kind, _ in table} - {"none"} == set(FAULT_KINDS)


def test_the_scrape_shown_is_one_of_this_code(families: dict[str, Any]) -> None:
    excerpt = METRICS.partition("## What it looks like")[2]
    shown = set(re.findall(r"^(computecache_\w+)(?:\{| )", excerpt, re.MULTILINE))
    samples = {sample.name for family in families.values() for sample in family.samples}
    assert shown == samples


def test_deployed_queries_ask_for_metrics_that_are_there(families: dict[str, Any]) -> None:
    samples = {sample.name for family in families.values() for sample in family.samples}
    files = [*(REPOSITORY / "deploy").rglob("*.yml"), *(REPOSITORY / "deploy").rglob("*.json")]
    assert files
    asked = {name for file in files for name in re.findall(r"\bcomputecache_\w+", file.read_text())}
    assert asked <= samples


def test_figures_of_the_plugin_that_the_code_knows() -> None:
    assert f"of {sum(map(len, FINGERPRINTS.values()))} functions and classes" in running(PLUGIN)
    assert VERSION in PLUGIN
    from keepwarm.policies.computecache import EXTRA_DEMOTIONS, LEAST_STALE_BLOCKS
    from keepwarm.vllm.hooks import LEAST_REMEMBERED_HASHES

    assert f"demotes {EXTRA_DEMOTIONS} blocks more" in running(PLUGIN)
    assert f"{LEAST_STALE_BLOCKS:,} blocks at least" in running(ORDER)
    assert f"or {LEAST_REMEMBERED_HASHES:,} if that is more" in running(METRICS)


def test_the_measurement_of_the_counters_runs(tmp_path: Path) -> None:
    (script,) = re.findall(r"```python\n(.*?)```", COUNTERS, re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", script, "100"],
        cwd=tmp_path,
        env={"PATH": "", "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert len(re.findall(r": [\d,]+ ns$", done.stdout, re.MULTILINE)) == done.stdout.count("\n") == 8


def test_the_pictures_of_the_free_list_add_up() -> None:
    """Each state of the flood has all 127 blocks, and the simulated figures are those it shows."""
    from keepwarm.policies.computecache import PROTECTED_SHARE

    states = re.findall(r"^(?:before|after \w)\s+\[(.*)\]", ORDER, re.MULTILINE)
    assert len(states) == 8
    for state in states:
        assert sum(int(number) for number in re.findall(r"\d+", state)) == 127, state
    assert f"more than {PROTECTED_SHARE:.0%} of the pool" in running(ORDER)
