"""One run of a fleet from a workload and options to its figures."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, islice

from keepwarm.fleet.balancers import BALANCERS
from keepwarm.fleet.balancers.base import Balancer
from keepwarm.fleet.clients import FleetClients
from keepwarm.fleet.options import FleetOptions
from keepwarm.fleet.replica import Replica
from keepwarm.fleet.row import FleetRow, fleet_row
from keepwarm.fleet.run import Fleet, FleetLedger
from keepwarm.serving.alone import ledger_alone_s
from keepwarm.serving.base import ServerConfig
from keepwarm.serving.options import Population
from keepwarm.serving.population import Cast, choose
from keepwarm.serving.server import modelled_server
from keepwarm.serving.simulate import check_run
from keepwarm.workload.base import Workload


def simulate_fleet(workload: Workload, options: FleetOptions) -> FleetRow:
    """Run ``workload`` on the modelled fleet. Raises InputError for options that no run could have."""
    config = check_fleet(workload, options)
    ran = run_fleet(workload, options)
    alone_s = ledger_alone_s(ran.ledger, config, options.server.profile.coefficients())
    return fleet_row(options, ran, alone_s, config.block_size)


def run_fleet(
    workload: Workload, options: FleetOptions, *, balancer: type[Balancer] | None = None
) -> FleetLedger:
    """All that happened. ``balancer``: in place of the one named, say one that is watched."""
    server = options.server
    config = check_fleet(workload, options)
    cast = fleet_cast(workload, options, config.capacity_blocks * config.block_size)
    clients = FleetClients(cast, server.gap_scale)
    replicas = [
        modelled_server(workload, server, config, clients, cast.measured, loop=Replica)
        for _ in range(options.replicas)
    ]
    chosen = (balancer or BALANCERS[options.balancer])(replicas, load_bound=options.load_bound)
    return Fleet(replicas, clients, chosen, cast.measured).run()


def check_fleet(workload: Workload, options: FleetOptions) -> ServerConfig:
    """The limits of each server. Raises InputError for options that no run could have."""
    options.check()
    config, _ = check_run(workload, options.server)
    return config


def fleet_cast(workload: Workload, options: FleetOptions, most_request_tokens: int) -> Cast:
    """As of one server, ``server.sessions`` for each replica; raises InputError if one would have too few.

    When the trace runs out its sessions come again with hashes of their own, as in a constant population.
    """
    server = options.server
    endless = choose(workload, replace(server, population=Population.CONSTANT), most_request_tokens)
    sessions = chain(endless.first, endless.later)
    together = options.replicas * server.sessions
    first = list(islice(sessions, together))
    if server.population is Population.TOGETHER:
        return Cast(first, iter(()), range(together), endless.left_out)
    return Cast(first, sessions, range(together, 2 * together), endless.left_out)
