"""Every query of the dashboards and alerts, in a real Prometheus that scrapes two real servers under load.

The scrape configuration and the rules are those of deploy/prometheus; only addresses and the interval differ.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest

from keepwarm.canary.servers.local import LocalServer, cpu_options
from keepwarm.canary.servers.process import reserved_port

REPOSITORY = Path(__file__).resolve().parents[2]
DEPLOY = REPOSITORY / "deploy"
BINARIES = Path(os.environ.get("KEEPWARM_TEST_PROMETHEUS", REPOSITORY / "build" / "prometheus" / "bin"))
# No call sites are exported here: tests/deploy/test_online_feed_backfilled.py asks that dashboard's queries,
# test_prometheus_cachewise.py those of CacheWise.
DASHBOARDS = sorted(
    path
    for path in (DEPLOY / "grafana" / "dashboards").glob("*.json")
    if path.stem in {"canary", "computecache"}
)
ROLES = {"baseline": "lru", "canary": "active"}
# Not a limit on speed: what a stuck test may take before it says what was missing.
PATIENCE_S = 240.0
PROMPT_TOKENS = 800  # 50 of the 127 usable blocks
SELECTOR = re.compile(r"\b(?:vllm:|computecache_|up\b)[\w:]*(?:\{[^}]*\})?")


class Query(NamedTuple):
    """A panel's query as Grafana sends it."""

    place: str
    expr: str


def dashboard_queries() -> Iterator[Query]:
    for path in DASHBOARDS:
        for panel in json.loads(path.read_text())["panels"]:
            for target in panel.get("targets", ()):
                # Grafana's interval of rates: four scrapes of the data source's five seconds.
                expr = target["expr"].replace("$__rate_interval", "20s")
                assert "$" not in expr, f"this test does not know a variable in {expr!r}"
                yield Query(f"{path.stem}: {panel['title']}", expr)


class Prometheus:
    """The running process, asked over its API."""

    def __init__(self, base_url: str) -> None:
        self.base_url = base_url
        self._client = httpx2.Client(base_url=base_url, timeout=30)

    def data(self, path: str, **parameters: str) -> Any:
        answer = self._client.get(f"/api/v1/{path}", params=parameters).json()
        assert answer["status"] == "success", answer
        return answer["data"]

    def samples(self, expr: str) -> dict[str, list[float]]:
        """Values now, by role; those without a role under the empty one."""
        values: dict[str, list[float]] = {}
        for sample in self.data("query", query=expr)["result"]:
            values.setdefault(sample["metric"].get("role", ""), []).append(float(sample["value"][1]))
        return values

    def rules(self) -> list[dict[str, Any]]:
        return [rule for group in self.data("rules")["groups"] for rule in group["rules"]]

    def noticed(self) -> set[str]:
        """The alerts that fire, or will if nothing changes."""
        return {rule["name"] for rule in self.rules() if rule["state"] in {"pending", "firing"}}

    def is_ready(self) -> bool:
        with contextlib.suppress(httpx2.HTTPError):
            return bool(self._client.get("/-/ready").status_code == 200)
        return False


class Stack(NamedTuple):
    """What compose.yaml starts, as processes of this machine."""

    prometheus: Prometheus
    servers: dict[str, LocalServer]


@pytest.fixture(scope="module")
def stack(cpu_server: Any, tiny_model_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    cpu_server.stop()  # the one that other tests share: two are enough for two cores
    folder = tmp_path_factory.mktemp("stack")
    options = cpu_options(str(tiny_model_dir), arguments=("--load-format", "dummy"))
    # On two busy cores a decision may be interrupted for longer than its budget: no fault of the policy.
    settings = {"COMPUTECACHE_DECISION_BUDGET_US": "10000000"}
    with contextlib.ExitStack() as exits:
        servers = {}
        for role, mode in ROLES.items():
            servers[role] = exits.enter_context(LocalServer(options, folder / role))
            servers[role].start({**settings, "COMPUTECACHE_MODE": mode})
        yield Stack(exits.enter_context(running_prometheus(servers, folder)), servers)


@contextlib.contextmanager
def running_prometheus(
    servers: dict[str, LocalServer], folder: Path, rules: str = "alerts.yml"
) -> Iterator[Prometheus]:
    """On loopback and a free port, with one of the files of rules; ended by its own process id."""
    if not (BINARIES / "prometheus").exists():
        pytest.fail(f"no prometheus in {str(BINARIES)!r}; `make test` fetches it")
    with contextlib.closing(reserved_port()) as held:
        yield from _running_prometheus(servers, folder, rules, held.getsockname()[1])


def _running_prometheus(
    servers: dict[str, LocalServer], folder: Path, rules: str, port: int
) -> Iterator[Prometheus]:
    config = (DEPLOY / "prometheus" / "prometheus.yml").read_text()
    replacements = {
        "127.0.0.1:9090": f"127.0.0.1:{port}",
        "_interval: 5s": "_interval: 1s",
        "scrape_timeout: 4s": "scrape_timeout: 1s",
        **{f"{role}:8000": server.base_url.removeprefix("http://") for role, server in servers.items()},
    }
    for old, new in replacements.items():
        assert old in config
        config = config.replace(old, new)
    (folder / "prometheus.yml").write_text(config)
    (folder / rules).write_bytes((DEPLOY / "prometheus" / rules).read_bytes())
    command = [BINARIES / "prometheus", f"--config.file={folder / 'prometheus.yml'}"]
    command += [f"--storage.tsdb.path={folder / 'data'}", f"--web.listen-address=127.0.0.1:{port}"]
    with (folder / "prometheus.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
    try:
        prometheus = Prometheus(f"http://127.0.0.1:{port}")
        deadline = time.monotonic() + PATIENCE_S
        while not prometheus.is_ready():
            log_text = (folder / "prometheus.log").read_text()
            assert process.poll() is None, log_text
            assert time.monotonic() < deadline, log_text
            time.sleep(0.1)
        yield prometheus
    finally:
        process.terminate()
        process.wait(30)


def load(servers: dict[str, LocalServer], rounds: Iterator[int]) -> None:
    """A hot prefix three times, then four prompts that nobody sends again: LRU loses it, the canary not."""
    start = 1000 + next(rounds) * 4
    hot = [100] * PROMPT_TOKENS
    floods = [[start + number] * PROMPT_TOKENS for number in range(4)]
    for server in servers.values():
        for prompt in (hot, hot, hot, *floods):
            body = {"model": model_of(server), "prompt": prompt, "max_tokens": 4, "ignore_eos": True}
            httpx2.post(f"{server.base_url}/v1/completions", json=body, timeout=120).raise_for_status()


def model_of(server: LocalServer) -> str:
    return str(httpx2.get(f"{server.base_url}/v1/models", timeout=30).json()["data"][0]["id"])


def has_data(samples: dict[str, list[float]], expr: str) -> bool:
    """A finite value, and series of both roles if the query tells them apart.

    One of the roles may show no number: in lru there are no decisions to divide by, and vLLM knows the gaps
    between uses of evicted blocks only, while the canary keeps those that are used.
    """
    roles = set(ROLES) if re.search(r"by \(role\b", expr) else {""}
    return samples.keys() >= roles and any(math.isfinite(value) for role in roles for value in samples[role])


@pytest.fixture(scope="module")
def unanswered(stack: Stack) -> dict[Query, dict[str, list[float]]]:
    """Load the servers until every query has returned data; those that never did, with what they returned.

    Twice at least, however slow the first round is: what the canary gains is seen when the prefix comes back.
    """
    waiting: dict[Query, dict[str, list[float]]] = {query: {} for query in dashboard_queries()}
    rounds, deadline = itertools.count(), time.monotonic() + PATIENCE_S
    load(stack.servers, rounds)
    while waiting and time.monotonic() < deadline:
        load(stack.servers, rounds)
        samples = {query: stack.prometheus.samples(query.expr) for query in waiting}
        waiting = {query: found for query, found in samples.items() if not has_data(found, query.expr)}
    return waiting


def test_every_query_of_the_dashboards_returns_data(unanswered: dict[Query, dict[str, list[float]]]) -> None:
    assert unanswered == {}


# A scrape that took too long leaves a gap of a second, so what follows is asked until the answer is right.


def test_the_dashboards_show_what_the_canary_gains(stack: Stack, unanswered: Any) -> None:
    def gained() -> bool:
        hits = stack.prometheus.samples("sum by (role) (vllm:prefix_cache_hits_total)")
        lost = stack.prometheus.samples("sum by (role) (computecache_evicted_then_requested_tokens_total)")
        return (
            hits.keys() == lost.keys() == ROLES.keys()
            and hits["canary"] > hits["baseline"]
            and lost["canary"] < lost["baseline"]
        )

    reaches(gained, True)


def test_every_selector_of_the_alerts_has_data(stack: Stack, unanswered: Any) -> None:
    rules = stack.prometheus.rules()
    selectors = {selector for rule in rules for selector in SELECTOR.findall(rule["query"])}
    assert len(selectors) > len(rules)
    reaches(lambda: [one for one in sorted(selectors) if not stack.prometheus.samples(one)], [])


def test_alerts_evaluate_and_are_quiet_on_healthy_servers(stack: Stack, unanswered: Any) -> None:
    reaches(
        lambda: [rule.get("lastError") for rule in stack.prometheus.rules() if rule["health"] != "ok"], []
    )
    # The others compare loads or times, which a test does not promise.
    must_be_quiet = {
        "ComputeCacheTripped", "ComputeCacheFaults", "ComputeCacheModeDiffers", "VllmServerDown",
        "CanaryHitRateBelowBaseline", "KvCacheUsageHigh",
    }  # fmt: skip
    reaches(lambda: must_be_quiet & stack.prometheus.noticed(), set())


@pytest.mark.long  # for a start of its own; from pending on, promtool tests what an alert does
def test_a_canary_that_was_rolled_back_is_noticed(stack: Stack, unanswered: Any) -> None:
    stack.servers["canary"].start({"COMPUTECACHE_MODE": "lru"})
    reaches(lambda: "ComputeCacheModeDiffers" in stack.prometheus.noticed(), True)


def test_a_canary_that_is_gone_is_noticed(stack: Stack, unanswered: Any) -> None:
    """Last, since it ends the canary."""
    stack.servers["canary"].stop()
    reaches(lambda: "VllmServerDown" in stack.prometheus.noticed(), True)


def reaches(look: Callable[[], object], expected: object) -> None:
    """Look until it is so, and fail with what was seen last if it never is."""
    deadline = time.monotonic() + PATIENCE_S
    while (seen := look()) != expected and time.monotonic() < deadline:
        time.sleep(0.2)
    assert seen == expected
