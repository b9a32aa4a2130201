"""The run itself: reset, warm, flood in growing batches, replay."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import httpx2

from keepwarm._errors import ServerError
from keepwarm.canary.pressure.options import PressureOptions, check_options
from keepwarm.canary.pressure.prompts import TEXT, Prompts
from keepwarm.canary.pressure.report import (
    Counters,
    HotReplay,
    PressureReport,
    PressureStep,
    Ttft,
    is_preserved,
)
from keepwarm.canary.pressure.sending import Sender
from keepwarm.canary.pressure.sizing import Sizes, sizes_for
from keepwarm.server.client import ServedModel, VllmClient
from keepwarm.server.metrics import CacheConfig, Metrics

_RESET_TRIES = 10
_RESET_PAUSE_S = 0.3


class _Setting(NamedTuple):
    """What the run found when it came, and made of it."""

    model: ServedModel
    cache: CacheConfig
    sizes: Sizes
    is_reset: bool


class _Warmed(NamedTuple):
    """The first hot request, and the second, which hits what the first left."""

    cold: HotReplay
    warm: HotReplay


def run_pressure(
    base_url: str,
    options: PressureOptions,
    *,
    api_key: str | None = None,
    transport: httpx2.BaseTransport | None = None,
    on_step: Callable[[PressureStep], None] | None = None,
) -> PressureReport:
    """Warm a hot prefix, flood the cache with one-use prompts, and say what is left of it.

    Sequential: one request at a time, so that nothing but the server decides what is evicted.
    ``base_url`` is the server with or without ``/v1``; ``transport`` replaces the network in tests;
    ``on_step`` hears of each step when it is done. A failed request is counted, not raised.

    Raises:
        ServerError: the server cannot be reached, does not tell its limits, its usage or its counters,
            does not cache prefixes, fails five requests in a row, or leaves no room for the workload.
        InputError: options that no server could make sense of.
    """
    check_options(options)
    with VllmClient(base_url, api_key=api_key, transport=transport, timeout_s=options.timeout_s) as client:
        model = client.model(options.model)
        found = Metrics.parsed(client.metrics_text(), client.name)
        cache = found.cache_config()
        found.hit_tokens()  # a server that does not count is refused before anything is sent
        sizes = sizes_for(model.max_model_len, cache, options)
        prompts = Prompts(client.tokenize(model.id, TEXT), block_size=cache.block_size, seed=options.seed)
        sender = Sender(client, model.id, sizes, prompts, options)
        setting = _Setting(model, cache, sizes, _reset(client))
        before = sender.metrics()
        warmed = _warm(sender, client.name)
        steps = _steps(sender, options, on_step)
        return _report(setting, options, warmed, steps, sender, before, sender.metrics())


def _reset(client: VllmClient) -> bool:
    """Whether the cache is empty now. Raises ServerError: its blocks stay in use."""
    for attempt in range(_RESET_TRIES):
        if attempt:
            time.sleep(_RESET_PAUSE_S)
        done = client.reset_prefix_cache()
        if done is not False:
            return bool(done)
    raise ServerError(
        f"{client.name} refuses to reset its cache, blocks are in use; wait until nobody else uses it"
    )


def _warm(sender: Sender, server: str) -> _Warmed:
    replays = []
    for where in ("first hot request", "second hot request"):
        replay = sender.hot(where)
        if replay is None:
            raise ServerError(f"the {where} to {server} failed: {sender.failures[0].reason}; read its log")
        replays.append(replay)
    warmed = _Warmed(*replays)
    if warmed.warm.cached_tokens == 0:
        raise ServerError(
            f"{server} cached nothing of the hot prefix for its second request; "
            "start vLLM with --enable-prefix-caching"
        )
    return warmed


def _steps(
    sender: Sender, options: PressureOptions, on_step: Callable[[PressureStep], None] | None
) -> tuple[PressureStep, ...]:
    steps = []
    for number, (earlier, total) in enumerate(pairwise((0, *options.flood)), start=1):
        flooded = sender.flood(f"flood of step {number}", total - earlier)
        replays = [sender.hot(f"step {number}") for _ in range(options.repeat)]
        first = replays[0]
        step = PressureStep(
            flood_requests=total,
            batch_requests=total - earlier,
            cached_tokens=None if first is None else first.cached_tokens,
            counter_cached_tokens=None if first is None else first.counter_cached_tokens,
            ttft_s=None if first is None else first.ttft_s,
            text=None if first is None else first.text,
            flood_cached_tokens=flooded.cached_tokens,
            flood_ttfts_s=flooded.ttfts_s,
            failed_requests=flooded.ttfts_s.count(None) + replays.count(None),
            replays=tuple(replay for replay in replays if replay is not None),
        )
        steps.append(step)
        if on_step is not None:
            on_step(step)
    return tuple(steps)


def _report(
    setting: _Setting,
    options: PressureOptions,
    warmed: _Warmed,
    steps: tuple[PressureStep, ...],
    sender: Sender,
    before: Metrics,
    after: Metrics,
) -> PressureReport:
    mode, later_mode = before.mode(), after.mode()
    inconsistencies = list(sender.inconsistencies)
    if mode != later_mode:
        inconsistencies.append(f"the plugin went from mode {mode!r} to {later_mode!r} while the run lasted")
    failed = sum(step.failed_requests for step in steps)
    warm_tokens = warmed.warm.cached_tokens
    is_kept = all(is_preserved(warm_tokens, step.cached_tokens) for step in steps)
    return PressureReport(
        mode=mode,
        model=setting.model.id,
        seed=options.seed,
        max_model_len=setting.model.max_model_len,
        block_size=setting.cache.block_size,
        capacity_blocks=setting.cache.capacity_blocks,
        hot_prefix_tokens=setting.sizes.hot_tokens,
        flood_prompt_tokens=setting.sizes.flood_tokens,
        cache_reset=setting.is_reset,
        cold_prefix_cached_tokens=warmed.cold.cached_tokens,
        warm_prefix_cached_tokens=warm_tokens,
        post_flood_cached_tokens=steps[-1].cached_tokens,
        flood_requests=options.flood[-1],
        failed_requests=failed,
        failures=sender.failures,
        hot_prefix_preserved=is_kept and not failed and not inconsistencies,
        inconsistencies=tuple(inconsistencies),
        ttft=_ttft(warmed, steps),
        steps=steps,
        counters=Counters(before=before.plugin(), after=after.plugin()),
    )


def _ttft(warmed: _Warmed, steps: tuple[PressureStep, ...]) -> Ttft:
    times_s = [step.ttft_s for step in steps if step.ttft_s is not None]
    return Ttft(
        cold_s=warmed.cold.ttft_s if warmed.cold.cached_tokens == 0 else None,
        warm_s=warmed.warm.ttft_s,
        post_flood_s=steps[-1].ttft_s,
        median_s=statistics.median(times_s) if times_s else None,
    )
