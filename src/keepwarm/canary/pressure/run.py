"""The run itself: reset, warm, flood in growing batches, replay."""

from __future__ import annotations

from collections.abc import Callable

import httpx2

from keepwarm.canary.pressure.options import PressureOptions, check_options
from keepwarm.canary.pressure.report import PressureReport, PressureStep


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
            does not cache prefixes, or leaves no room for the workload.
        InputError: options that no server could make sense of.
    """
    check_options(options)
    raise NotImplementedError((base_url, api_key, transport, on_step))
