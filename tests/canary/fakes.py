"""A server that is never started, and runs made up: what a run found is decided by the settings it got."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from keepwarm._errors import ServerError
from keepwarm.canary.plugin_metrics import PluginMetrics
from keepwarm.canary.pressure import Counters, Failure, PressureReport, PressureStep, Ttft
from keepwarm.canary.runs import Instruments, Run
from keepwarm.canary.servers.base import ServerAdapter
from keepwarm.server.identity import Identity, Versions

FLOOD = (1, 2, 4, 8, 16, 40, 80)
LRU_TOKENS = (800, 416, 0, 0, 0, 0, 0)
ACTIVE_TOKENS = (800,) * 7
COLD_S, WARM_S = 1.8, 0.08


def pressure_report(
    *,
    mode: str = "lru",
    cached: tuple[int | None, ...] = LRU_TOKENS,
    slower: float = 1.0,
    one_use_slower: float | None = None,
    texts: tuple[str, ...] | None = None,
    failed: int = 0,
    inconsistencies: tuple[str, ...] = (),
    **changes: Any,
) -> PressureReport:
    """A run of 80 one-use requests; ``slower`` multiplies hot TTFTs, ``one_use_slower`` the others."""
    factor = slower if one_use_slower is None else one_use_slower
    steps = []
    earlier = 0
    for number, (total, tokens) in enumerate(zip(FLOOD, cached, strict=True)):
        times_s = tuple(factor * COLD_S * (1 + (earlier + i) * 7 % 11 / 1000) for i in range(total - earlier))
        steps.append(
            PressureStep(
                flood_requests=total,
                batch_requests=total - earlier,
                cached_tokens=tokens,
                counter_cached_tokens=tokens,
                ttft_s=slower * (WARM_S if tokens else COLD_S),
                text=texts[number] if texts else f"text {number}",
                flood_cached_tokens=0,
                flood_ttfts_s=times_s,
                failed_requests=failed if number == 0 else 0,
                replays=(),
            )
        )
        earlier = total
    report = PressureReport(
        mode=mode,
        model="/models/here/smollm2",
        seed=0,
        max_model_len=1024,
        block_size=16,
        capacity_blocks=127,
        hot_prefix_tokens=800,
        flood_prompt_tokens=810,
        cache_reset=True,
        cold_prefix_cached_tokens=0,
        warm_prefix_cached_tokens=800,
        post_flood_cached_tokens=cached[-1],
        flood_requests=80,
        failed_requests=failed,
        failures=(Failure(reason="HTTP 500", requests=failed),) if failed else (),
        hot_prefix_preserved=all((tokens or 0) >= 760 for tokens in cached) and not failed,
        inconsistencies=inconsistencies,
        ttft=Ttft(cold_s=COLD_S, warm_s=WARM_S, post_flood_s=steps[-1].ttft_s, median_s=COLD_S),
        steps=tuple(steps),
        counters=Counters(before={}, after={}),
    )
    return msgspec.structs.replace(report, **changes)


def plugin_metrics(**changes: Any) -> PluginMetrics:
    """A plugin in lru to which nothing happened."""
    metrics = PluginMetrics(
        mode="lru",
        rule="boundary",
        scan_limit=4,
        decisions=4000,
        reordered_decisions=0,
        demoted_blocks=0,
        scanned_blocks=0,
        faults={},
        tripped_engines=0,
        evicted_blocks={"unhashed": 0, "never_hit": 4000, "hit": 50},
        evicted_then_requested_tokens=800,
    )
    return msgspec.structs.replace(metrics, **changes)


IDENTITY = Identity(
    device="CPU: 2 cores, 24 GiB, x86_64",
    versions=Versions(vllm="0.32.0", keepwarm="0.1.0", python="3.11.7"),
    commit="0123abcd",
    uncommitted_changes=False,
)


def baseline_run(**changes: Any) -> Run:
    """Stock order: the prefix is washed out."""
    return Run(
        settings={"COMPUTECACHE_MODE": "lru"}, plugin=plugin_metrics(), pressure=pressure_report(**changes)
    )


def candidate_run(*, plugin: Mapping[str, Any] | None = None, **changes: Any) -> Run:
    """The prefix is kept, at the same speed."""
    return Run(
        settings={"COMPUTECACHE_MODE": "active"},
        plugin=plugin_metrics(**{"mode": "active", "reordered_decisions": 3000, **(plugin or {})}),
        pressure=pressure_report(**{"mode": "active", "cached": ACTIVE_TOKENS, **changes}),
    )


class FakeAdapter(ServerAdapter):
    """Remembers every start and stop; ``refuses`` says for which settings it does not start, and how."""

    def __init__(self, refuses: Callable[[Mapping[str, str]], BaseException | None] = lambda _: None) -> None:
        self.events: list[str] = []
        self.settings: dict[str, str] | None = None  # None: stopped
        self._refuses = refuses

    @property
    def base_url(self) -> str:
        return "http://127.0.0.1:1"

    @property
    def mode(self) -> str:
        """What would be served with now; ``stopped`` if nothing."""
        return "stopped" if self.settings is None else self.settings["COMPUTECACHE_MODE"]

    def start(self, settings: Mapping[str, str]) -> None:
        self.settings = None
        self.events.append(f"start {' '.join(settings.values())}")
        error = self._refuses(settings)
        if error is not None:
            raise error
        self.settings = dict(settings)

    def stop(self) -> None:
        self.events.append("stop")
        self.settings = None

    def log_tail(self, lines: int = 40) -> str:
        return ""

    @property
    def starts(self) -> int:
        """How often it was asked to start."""
        return sum(event.startswith("start") for event in self.events)


class Bench:
    """Measures a ``FakeAdapter``: runs in order of its starts, the last one again when they run out.

    An exception in place of a run is raised by the pressure workload.
    """

    def __init__(self, adapter: FakeAdapter, *runs: Run | BaseException) -> None:
        self._adapter = adapter
        self._runs = runs

    def _now(self) -> Run | BaseException:
        return self._runs[min(self._adapter.starts, len(self._runs)) - 1]

    def instruments(self) -> Instruments:
        """What the canary takes."""
        return Instruments(self._pressure, self._plugin, lambda url: IDENTITY)

    def _pressure(self, url: str) -> PressureReport:
        assert url == self._adapter.base_url
        now = self._now()
        if isinstance(now, BaseException):
            raise now
        return now.pressure

    def _plugin(self, url: str) -> PluginMetrics:
        now = self._now()
        if isinstance(now, BaseException):
            raise ServerError("no metrics")
        return now.plugin
