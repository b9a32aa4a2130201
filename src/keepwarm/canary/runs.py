"""One pressure run of a server that was started for it, and what of it is compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import NamedTuple

import httpx2
import msgspec

from keepwarm.canary.plugin_metrics import PluginMetrics, read_plugin_metrics
from keepwarm.canary.pressure import PressureOptions, PressureReport, run_pressure
from keepwarm.canary.servers.base import ServerAdapter
from keepwarm.server.identity import Identity, identify


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A server started with ``settings``, put under pressure, then asked for the plugin's metrics."""

    settings: Mapping[str, str]
    plugin: PluginMetrics
    pressure: PressureReport

    def hot_cached_tokens(self) -> tuple[int | None, ...]:
        """Of the hot request after each step; None where it failed."""
        return tuple(step.cached_tokens for step in self.pressure.steps)

    def hot_ttfts_s(self) -> tuple[float | None, ...]:
        """Of the hot request after each step; None where it failed."""
        return tuple(step.ttft_s for step in self.pressure.steps)

    def one_use_ttfts_s(self) -> tuple[float | None, ...]:
        """Of every one-use request in order; None where it failed."""
        return tuple(ttft_s for step in self.pressure.steps for ttft_s in step.flood_ttfts_s)


class Instruments(NamedTuple):
    """How a running server is measured; each takes its base URL. Tests put their own in."""

    pressure: Callable[[str], PressureReport]
    plugin: Callable[[str], PluginMetrics]
    identity: Callable[[str], Identity]


def instruments(
    options: PressureOptions,
    *,
    device: str | None = None,
    api_key: str | None = None,
    transport: httpx2.BaseTransport | None = None,
) -> Instruments:
    """The real ones, all with the same key and network."""
    return Instruments(
        pressure=lambda url: run_pressure(url, options, api_key=api_key, transport=transport),
        plugin=lambda url: read_plugin_metrics(url, api_key=api_key, transport=transport),
        identity=lambda url: identify(url, device=device, transport=transport),
    )


def take_run(adapter: ServerAdapter, settings: Mapping[str, str], measure: Instruments) -> Run:
    """Start the server anew, so with an empty cache, and put it under pressure.

    Raises:
        ServerError: it does not start, does not answer, or has no plugin.
    """
    adapter.start(settings)
    pressure = measure.pressure(adapter.base_url)
    # A model named by its path would say where it lies on this machine.
    pressure = msgspec.structs.replace(pressure, model=PurePath(pressure.model).name)
    return Run(settings=dict(settings), plugin=measure.plugin(adapter.base_url), pressure=pressure)
