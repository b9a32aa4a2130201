"""``keepwarm simulate``: what a cache of a given size and policy would do with a trace."""

from __future__ import annotations

from typing import Annotated

import typer

from keepwarm.cli import options as shared
from keepwarm.cli.output import screen, write_bytes, write_text
from keepwarm.cli.progress import progress_bar

app = typer.Typer(
    help="Replay a trace through a model of the cache.", rich_markup_mode=None, add_completion=False
)

Policies = Annotated[
    str | None,
    typer.Option(
        "--policy",
        metavar="NAME,...",
        callback=shared.name_list,
        help="Eviction policies. Without it: lru,computecache,belady.",
    ),
]
Capacities = Annotated[
    str | None,
    typer.Option(
        "--capacity-blocks",
        metavar="N,...",
        callback=shared.count_list,
        help="Usable blocks (vLLM's number less 1). Without it: doubling, from the largest prompt on.",
    ),
]
IgnoreOutput = Annotated[
    bool, typer.Option("--ignore-output", help="Leave out the blocks that decoding fills.")
]
MatchUnit = Annotated[
    int | None,
    typer.Option(
        "--match-unit-tokens",
        metavar="N",
        min=1,
        help="A hit is a multiple of it. Without it: one block.",
    ),
]
Threads = Annotated[int | None, typer.Option("--threads", metavar="N", min=1, help="Without it: all cores.")]
NoStore = Annotated[
    bool, typer.Option("--no-store", help="Neither use nor keep the interned trace of an earlier run.")
]


@app.command("cache")
def cache_command(
    trace: shared.Trace,
    policy: Policies = None,
    capacity_blocks: Capacities = None,
    ignore_output: IgnoreOutput = False,
    format: shared.Format = "auto",  # noqa: A002 - the option's name in the contract
    tokenizer: shared.Tokenizer = None,
    chat_template: shared.ChatTemplate = None,
    block_size: shared.BlockSize = None,
    match_unit_tokens: MatchUnit = None,
    threads: Threads = None,
    no_store: NoStore = False,
    json: shared.Json = False,
) -> None:
    """Hit rates by eviction policy and capacity, simulated.

    Requests are replayed one after another in recorded order, each freed before the next.
    """
    from keepwarm._json import plain, to_json
    from keepwarm.cache.options import SimulateOptions
    from keepwarm.cache.simulate import simulate_cache

    options = SimulateOptions(
        format=format,
        tokenizer=tokenizer,
        chat_template=chat_template,
        block_size=block_size,
        policies=shared.names(policy),
        capacities_blocks=shared.counts(capacity_blocks),
        ignore_output=ignore_output,
        match_unit_tokens=match_unit_tokens,
        threads=threads,
        store=not no_store,
    )
    with progress_bar() as progress:
        simulation = simulate_cache(trace, options, progress)
    if json:
        write_bytes(to_json(plain(simulation)))
        return
    from keepwarm.cache.report import render_simulation

    width, colour = screen()
    write_text(render_simulation(simulation, width=width, colour=colour))
