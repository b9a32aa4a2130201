"""One run from a workload and options to its figures."""

from __future__ import annotations

from collections.abc import Callable

from keepwarm._errors import InputError
from keepwarm.scheduling.base import QueueOrder
from keepwarm.serving.alone import ledger_alone_s
from keepwarm.serving.base import RequestState, ServerConfig
from keepwarm.serving.clients import Clients
from keepwarm.serving.loop import Loop
from keepwarm.serving.options import ServingOptions
from keepwarm.serving.population import Cast, choose
from keepwarm.serving.row import Row, row_of
from keepwarm.serving.server import modelled_server
from keepwarm.workload.base import Workload


def simulate(
    workload: Workload,
    options: ServingOptions,
    *,
    order: type[QueueOrder[RequestState]] | None = None,
    loop: Callable[..., Loop] = Loop,
) -> Row:
    """Run ``workload`` on the modelled server. Raises InputError for options that no run could have.

    The cache is simulated at the workload's own block size: M tokens are M // block_size blocks. ``order``
    is a queue order in place of the one named ``options.scheduling``, say one tuned otherwise; ``loop`` makes
    the loop, say one that is watched.
    """
    config, cast = check_run(workload, options)
    clients = Clients(cast, options.gap_scale)
    ledger = modelled_server(workload, options, config, clients, cast.measured, loop=loop, order=order).run()
    alone_s = ledger_alone_s(ledger, config, options.profile.coefficients())
    return row_of(options, ledger, alone_s, config.block_size)


def check_run(workload: Workload, options: ServingOptions) -> tuple[ServerConfig, Cast]:
    """The server and the sessions of a run. Raises InputError for options that no run could have."""
    options.check()
    check_gaps(workload, options.gap_scale)
    config = _server_config(options, workload.block_size)
    return config, choose(workload, options, config.capacity_blocks * config.block_size)


def check_gaps(workload: Workload, gap_scale: float) -> None:
    """Raise InputError for a scale that makes a gap endless."""
    longest_s = max((turn.gap_s for session in workload.sessions for turn in session.turns), default=0.0)
    if longest_s * gap_scale == float("inf"):
        raise InputError(f"gap_scale is {gap_scale!r}: a gap of {longest_s:g} s never ends; give less")


def _server_config(options: ServingOptions, block_size: int) -> ServerConfig:
    """The limits of the server. Raises InputError for those that no server could have."""
    profile = options.profile
    capacity_tokens = options.capacity_tokens or profile.capacity_tokens
    capacity_blocks = capacity_tokens // block_size
    if not capacity_blocks:
        raise InputError(
            f"capacity_tokens is {capacity_tokens}: no room for a block of {block_size} tokens; give more, "
            "or correct the trace's block size"
        )
    config = ServerConfig(
        block_size,
        capacity_blocks,
        max_request_tokens=capacity_blocks * block_size + 1,
        max_running_requests=profile.max_running_requests,
        step_tokens=options.step_tokens or profile.step_tokens,
    )
    config.check()
    return config
