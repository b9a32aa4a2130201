"""Where a run begins: at a reset, or where an interrupted one stopped."""

from __future__ import annotations

import datetime as dt
import time
from pathlib import Path
from typing import NamedTuple

from keepwarm._errors import InputError, ServerError
from keepwarm.replay.measuring.counting import counters_of, plugin_totals, scrape
from keepwarm.replay.measuring.journal import Head, Interrupted, read_journal
from keepwarm.replay.measuring.options import ReplayOptions
from keepwarm.replay.measuring.plan import Plan
from keepwarm.replay.measuring.record import Row, ServerFacts
from keepwarm.replay.measuring.summing import conditions_of
from keepwarm.server.client import VllmClient

_RESET_TRIES = 10
_RESET_PAUSE_S = 0.3


class Start(NamedTuple):
    """``rows`` and ``wall_s`` are what an interrupted run left; ``is_fresh``: nothing."""

    head: Head
    rows: tuple[Row, ...]
    wall_s: float
    interruptions: int
    is_fresh: bool


def earlier_run(path: Path, resume: bool) -> Interrupted | None:
    """What lies there, if it is to be resumed. Raises InputError: it is not, or there is nothing."""
    earlier = read_journal(path)
    if resume and earlier is None:
        raise InputError(f"there is no interrupted run at {str(path)!r}; leave --resume out")
    if earlier is not None and not resume:
        raise InputError(
            f"{str(path)!r} is of an interrupted run; add --resume, or delete it to begin from nothing"
        )
    return earlier


def start_of_run(
    client: VllmClient,
    options: ReplayOptions,
    plan: Plan,
    server: ServerFacts,
    earlier: Interrupted | None,
) -> Start:
    """Go on only where the cache still holds what the rows before left; else begin again with a reset.

    Raises InputError: the interrupted run was another. ServerError: the cache cannot be emptied.
    """
    if earlier is not None:
        _check_same(earlier.head, plan, server, options)
        now = counters_of(scrape(client))
        if earlier.pause is not None and earlier.pause.counters == now:
            return Start(earlier.head, earlier.rows, earlier.pause.wall_s, earlier.pauses, is_fresh=False)
    if options.reset:
        _reset(client)
    metrics = scrape(client)
    head = Head(
        plan_sha256=plan.sha256,
        conditions=conditions_of(options),
        server=server,
        reset=options.reset,
        started=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        before=counters_of(metrics),
        plugin_before=plugin_totals(metrics),
        restarts=0 if earlier is None else earlier.head.restarts + 1,
    )
    return Start(head, (), 0.0, 0, is_fresh=True)


def _check_same(head: Head, plan: Plan, server: ServerFacts, options: ReplayOptions) -> None:
    differing = {
        "the requests": head.plan_sha256 != plan.sha256,
        "the server": head.server != server,
        "how they are sent": (head.conditions, head.reset) != (conditions_of(options), options.reset),
    }
    for what, is_other in differing.items():
        if is_other:
            raise InputError(
                f"the interrupted run cannot be resumed: {what} changed since; delete its journal to begin "
                "from nothing"
            )


def _reset(client: VllmClient) -> None:
    """Empty the cache. Raises ServerError: the server has no such door, or its blocks stay in use."""
    for attempt in range(_RESET_TRIES):
        if attempt:
            time.sleep(_RESET_PAUSE_S)
        done = client.reset_prefix_cache()
        if done:
            return
        if done is None:
            raise ServerError(
                f"{client.name} has no /reset_prefix_cache; start vLLM with VLLM_SERVER_DEV_MODE=1, or add "
                "--no-reset, which the record will say"
            )
    raise ServerError(
        f"{client.name} refuses to reset its cache, blocks are in use; wait until nobody else uses it"
    )
