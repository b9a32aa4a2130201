"""Series of a healthy hour, and of regressions planted into it, as a Prometheus would have scraped them.

    python -m scripts.feed_series SCENARIO [--seed N]        # OpenMetrics text, for promtool tsdb

Two servers and four call sites over two hours and a quarter: load and hit rate that drift over the day,
noise that lasts, bursts in which requests wait, sessions that begin cold, a restart of each server. The
exporter's series come from the very meters of ``keepwarm watch``, predictions from the plugin's own table of
sessions. The regression starts ``PLANTED_S`` in.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from collections.abc import Iterator
from typing import ClassVar, NamedTuple

from keepwarm.policies.sessions import SessionId
from keepwarm.reuse.calls import ToolCall
from keepwarm.reuse.estimators.base import Estimator
from keepwarm.vllm.serving.counters import NAMES, private_serving_counters
from keepwarm.vllm.serving.exposition import prediction_families
from keepwarm.vllm.serving.faults import ServingFaults
from keepwarm.vllm.serving.predictions import PredictedTable
from keepwarm.watch.families import Following, families
from keepwarm.watch.meters import SiteMeter, Tokens

STEP_S = 15
LENGTH_S = 8_100
HOUR_S = 3_600
"""The last hour is the one that rules are held to: HitRateDropped looks back over the one before."""
PLANTED_S = LENGTH_S - 1_800
EPOCH_S = 1_780_000_000
SCENARIOS = ("healthy", "thrash", "prefix", "fell_back", "mispredicted")

_DAY_S = 86_400
_PROMPT_TOKENS = 2_400
_RESTART_S = 30  # without an answer on /metrics
_WARMING_S = 60.0  # until a cache that was emptied holds most of what it held


class Noise:
    """Noise that lasts: an autoregressive walk around 0."""

    def __init__(self, dice: random.Random, deviation: float, memory: float = 0.9) -> None:
        self._dice, self._memory, self._value = dice, memory, 0.0
        self._step = deviation * math.sqrt(1 - memory**2)

    def next(self) -> float:
        """The next value."""
        self._value = self._memory * self._value + self._dice.gauss(0, self._step)
        return self._value


class Tool(Estimator):
    """Lognormal times by tool, as a model would say them."""

    name = "by-tool"
    median_s: ClassVar[dict[str, float]] = {"ls": 0.3, "fetch": 5.0, "test": 40.0, "build": 120.0}
    deviation = 0.7  # of the logarithm

    def remaining_s(self, session: SessionId, call: ToolCall | None, elapsed_s: float) -> float | None:
        """The tool's mean; None for any other."""
        del session, elapsed_s
        median_s = None if call is None else self.median_s.get(call.tool)
        return None if median_s is None else median_s * math.exp(self.deviation**2 / 2)

    def stays_away(
        self, session: SessionId, call: ToolCall | None, elapsed_s: float, longer_s: float
    ) -> float | None:
        """The share of calls that take longer, whatever has passed."""
        del session, elapsed_s
        median_s = None if call is None else self.median_s.get(call.tool)
        if median_s is None:
            return None
        return math.erfc(math.log(longer_s / median_s) / self.deviation / math.sqrt(2)) / 2


class Reuse:
    """The plugin's own account of predictions, fed with sessions that call tools and come back, or do not."""

    def __init__(self, dice: random.Random, planted: str) -> None:
        self._dice, self._planted = dice, planted
        self._slowness = Noise(dice, 0.15, 0.98)
        self._counters = private_serving_counters()
        self._table = PredictedTable(Tool(), 64, self._counters, ServingFaults(self._counters, 1))
        self._sessions = 0

    def step(self, at_s: int) -> None:
        """The sessions of one scrape interval. Mutates."""
        slowness = self._slowness.next()
        if self._planted == "mispredicted" and at_s >= PLANTED_S:
            slowness += math.log(4)  # what the tools work on has become slower
        for _ in range(self._dice.randrange(2, 9)):
            self._sessions += 1
            self._session(SessionId(str(self._sessions)), float(at_s), slowness)

    def scrape(self) -> dict[str, float]:
        """What ``/metrics`` gives, by name and labels as text."""
        self._counters.set("predictions_open", self._table.open_predictions)
        values = {name: self._counters.get(name) for name in NAMES}
        shown = {}
        for family in prediction_families([values]):
            for sample in family.samples:
                labels = ",".join(f'{name}="{value}"' for name, value in sample.labels.items())
                shown[f"{sample.name}|{labels}"] = float(sample.value)
        return shown

    def _session(self, session: SessionId, at_s: float, slowness: float) -> None:
        dice, table = self._dice, self._table
        tool = dice.choice([*Tool.median_s, "unheard of"])
        table.arrived(session, 1, at_s)
        table.ended(session, 1, at_s)
        is_hinted = dice.random() < 0.7
        if is_hinted:
            table.doing(session, ToolCall(tool, ""), at_s)
        if dice.random() < 0.05:
            table.finish(session)
            return
        table.returns(session)
        if not is_hinted:
            table.doing(session, ToolCall(tool, ""), at_s)
        real_s = Tool.median_s.get(tool, 10.0) * math.exp(slowness + dice.gauss(0, Tool.deviation))
        table.arrived(session, 1, at_s + real_s)


class Site(NamedTuple):
    """A call site: how often it is called, and the share that a request in a running session hits."""

    name: str
    requests_per_s: float
    share: float
    first_share: float  # of the first request of a session
    session_requests: float


SITES = (
    Site("site-1", 0.8, 0.93, 0.55, 6),
    Site("site-2", 0.5, 0.85, 0.60, 4),
    Site("site-3", 0.3, 0.96, 0.90, 20),
    Site("site-4", 0.1, 0.30, 0.20, 2),
)
BROKEN = "site-2"


class Server:
    """A target and its counters; ``role`` is empty, as in a scrape that knows none."""

    def __init__(self, dice: random.Random, instance: str, plugin: str, restart_s: int, planted: str) -> None:
        self._dice, self.instance, self._plugin = dice, instance, plugin
        self._restart_s, self._planted = restart_s, planted
        self._phase = dice.random()
        self._load, self._rate, self._again = Noise(dice, 0.2), Noise(dice, 0.03), Noise(dice, 0.015)
        self._burst_s = 0.0
        self._reuse = Reuse(random.Random(dice.random()), planted)
        self._counters = dict.fromkeys(("queries", "hits", "again"), 0.0)

    def scrape(self, at_s: int) -> dict[str, float] | None:
        """What ``/metrics`` gives, by name and labels as text; None while it restarts. Mutates."""
        since_s = at_s - self._restart_s
        if 0 <= since_s < _RESTART_S:
            self._counters = dict.fromkeys(self._counters, 0.0)
            self._reuse = Reuse(random.Random(self._dice.random()), self._planted)
            return None
        day = math.sin(2 * math.pi * (at_s / _DAY_S + self._phase))
        load = max(0.1, 1 + 0.2 * day + self._load.next())
        rate = 0.72 + 0.05 * day + self._rate.next()
        if since_s >= 0:
            rate *= 1 - math.exp(-since_s / _WARMING_S)
        if self._burst_s <= 0 and self._dice.random() < 0.01:
            self._burst_s = self._dice.uniform(30, 90)
        self._burst_s -= STEP_S
        waiting = self._dice.randrange(2, 9) if self._burst_s > 0 else int(self._dice.random() < 0.15)
        again = max(0.0, 0.04 + self._again.next() + (0.2 if self._burst_s > 0 else 0.0))
        is_planted = at_s >= PLANTED_S
        if is_planted and self._planted == "thrash":
            waiting, again, rate = waiting + 3, again + 0.35, rate - 0.35
        if is_planted and self._planted == "prefix":
            rate -= 0.25
        queries = load * 1.6 * STEP_S * _PROMPT_TOKENS
        self._counters["queries"] += round(queries)
        self._counters["hits"] += round(queries * min(max(rate, 0.0), 1.0))
        self._counters["again"] += round(queries * again)
        shown = {
            "vllm:prefix_cache_queries_total": self._counters["queries"],
            "vllm:prefix_cache_hits_total": self._counters["hits"],
            "vllm:num_requests_waiting": float(waiting),
            "vllm:num_requests_running": float(self._dice.randrange(4, 20)),
            "vllm:kv_cache_usage_perc": min(1.0, 0.5 + 0.1 * load),
        }
        self._reuse.step(at_s)
        return shown | self._of_plugin(is_tripped=is_planted and self._planted == "fell_back")

    def _of_plugin(self, *, is_tripped: bool) -> dict[str, float]:
        again, on = self._counters["again"], float(not is_tripped)
        if self._plugin == "cachewise":
            return {
                "keepwarm_eviction_evicted_then_requested_tokens_total": again,
                "keepwarm_eviction_tripped": 1 - on,
                'keepwarm_eviction_effective|eviction="cachewise"': on,
                'keepwarm_eviction_effective|eviction="lru"': 1 - on,
                "keepwarm_put_away": 0.0,
                'keepwarm_sessions|state="paused"': float(self._dice.randrange(0, 3)),
                **self._reuse.scrape(),
            }
        return {
            "computecache_evicted_then_requested_tokens_total": again,
            "computecache_tripped": 1 - on,
            'computecache_effective_mode|mode="active"': on,
            'computecache_effective_mode|mode="lru"': 1 - on,
        }


class CallSites:
    """The exporter: real meters, fed with requests of sessions."""

    def __init__(self, dice: random.Random, planted: str) -> None:
        self._dice, self._planted = dice, planted
        self._meters = {site.name: SiteMeter(site.name, site.name) for site in SITES}
        self._noise = {site.name: Noise(dice, 0.02, 0.98) for site in SITES}
        self.requests = 0

    @property
    def meters(self) -> list[SiteMeter]:
        """Of every call site, in order."""
        return list(self._meters.values())

    def step(self, at_s: int) -> None:
        """The requests of one scrape interval. Mutates."""
        for site in SITES:
            for _ in range(self._poisson(site.requests_per_s * STEP_S)):
                self._request(site, at_s)

    def scrape(self, at_s: int) -> dict[str, float]:
        """What the exporter gives, by name and labels as text. Mutates."""
        self.step(at_s)
        shown = {}
        for family in families(self.meters, Following(0, 0, None)):
            for sample in family.samples:
                labels = ",".join(f'{name}="{value}"' for name, value in sample.labels.items())
                shown[f"{sample.name}|{labels}"] = float(sample.value)
        return shown

    def _request(self, site: Site, at_s: int) -> None:
        is_first = self._dice.random() < 1 / site.session_requests
        share = site.first_share if is_first else site.share
        share += self._noise[site.name].next() + self._dice.gauss(0, 0.04)
        share += 0.03 * math.sin(2 * math.pi * at_s / _DAY_S)
        if self._planted == "prefix" and site.name == BROKEN and at_s >= PLANTED_S:
            share *= 0.15
        prompt = round(self._dice.lognormvariate(math.log(_PROMPT_TOKENS), 0.3))
        hit = round(prompt * min(max(share, 0.0), 0.995))
        # The server's own figure: a little lower, as blocks are evicted.
        recorded = Tokens(prompt, round(hit * self._dice.uniform(0.9, 1.0)))
        self._meters[site.name].add(Tokens(prompt, hit), recorded)
        self.requests += 1

    def _poisson(self, mean: float) -> int:
        limit, count, product = math.exp(-mean), 0, self._dice.random()
        while product > limit:
            count, product = count + 1, product * self._dice.random()
        return count


def series(scenario: str, seed: int = 8) -> dict[str, list[float | None]]:
    """Every series of a scenario, ``LENGTH_S / STEP_S`` values each; None where a scrape had none.

    Keys are selectors such as ``up{job="thrash",instance="a"}``; the job is the scenario.
    """
    dice = random.Random(f"{scenario}-{seed}")
    servers = [
        Server(dice, "a", "computecache", LENGTH_S - dice.randrange(2_000, HOUR_S - 60), scenario),
        Server(dice, "b", "cachewise", LENGTH_S - dice.randrange(2_000, HOUR_S - 60), scenario),
    ]
    sites = CallSites(dice, scenario)
    wanted = {"a": 'wanted_mode="active"', "b": 'wanted_eviction="cachewise"'}
    found: dict[str, list[float | None]] = {}

    def note(index: int, name: str, labels: str, value: float) -> None:
        selector = f'{name}{{job="{scenario}",{labels}}}'
        values = found.setdefault(selector, [])
        values += [None] * (index - len(values)) + [value]

    steps = LENGTH_S // STEP_S
    for index in range(steps):
        at_s = index * STEP_S
        for server in servers:
            target = f'instance="{server.instance}"'
            shown = server.scrape(at_s)
            note(index, "up", f"{target},{wanted[server.instance]}", float(shown is not None))
            for key, value in (shown or {}).items():
                name, _, labels = key.partition("|")
                note(index, name, ",".join(filter(None, (target, wanted[server.instance], labels))), value)
        for key, value in sites.scrape(at_s).items():
            name, _, labels = key.partition("|")
            note(index, name, ",".join(filter(None, ('instance="feed"', labels))), value)
    return {key: values + [None] * (steps - len(values)) for key, values in found.items()}


def openmetrics(scenario: str, seed: int = 8) -> Iterator[str]:
    """Lines without the last, ``# EOF``: several scenarios may follow one another."""
    for selector, values in series(scenario, seed).items():
        for index, value in enumerate(values):
            if value is not None:
                yield f"{selector} {value:.9g} {EPOCH_S + index * STEP_S}\n"


def main() -> int:
    """Print one scenario."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("scenario", choices=SCENARIOS)
    parser.add_argument("--seed", type=int, default=8)
    arguments = parser.parse_args()
    sys.stdout.writelines(openmetrics(arguments.scenario, arguments.seed))
    sys.stdout.write("# EOF\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
