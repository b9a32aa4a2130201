"""``keepwarm watch``: servers as a Prometheus sees them, or the call sites of a recording for one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keepwarm._errors import InputError
from keepwarm.cli import options as shared
from keepwarm.cli.output import screen, write_bytes, write_error, write_text

if TYPE_CHECKING:
    from keepwarm.watch.follow import FollowOptions

PrometheusUrl = Annotated[
    str | None,
    typer.Option(
        "--prometheus",
        metavar="URL",
        help="A Prometheus that scrapes vLLM servers, say http://127.0.0.1:9090.",
        show_default=False,
    ),
]
Window = Annotated[str, typer.Option("--window", metavar="5m", help="What rates are taken over.")]
Interval = Annotated[float, typer.Option("--interval", metavar="S", min=1, help="Seconds between looks.")]
Once = Annotated[bool, typer.Option("--once", help="Look once and end.")]

Trace = Annotated[
    Path | None,
    typer.Option(
        "--trace",
        metavar="FILE",
        help="A recording that keepwarm record appends to: export its call sites.",
        show_default=False,
    ),
]
Listen = Annotated[
    str,
    typer.Option("--listen", metavar="HOST:PORT", help="Where --trace answers on /metrics; port 0: any."),
]
BlockSize = Annotated[
    int | None,
    typer.Option("--block-size", metavar="N", min=1, max=1_024, help="Tokens of a block, for --trace."),
]
CapacityBlocks = Annotated[
    int,
    typer.Option(
        "--capacity-blocks", metavar="N", min=1, max=16_777_216, help="Simulated usable blocks, for --trace."
    ),
]
ReuseModel = Annotated[
    str | None,
    typer.Option(
        "--reuse-model",
        metavar="FILE",
        help="A model of keepwarm reuse fit: also export what it predicts of --trace against what came.",
        show_default=False,
    ),
]


_OF_PROMETHEUS = ("window", "interval")
_OF_TRACE = ("listen", "tokenizer", "chat_template", "block_size", "capacity_blocks", "reuse_model")


def command(
    context: typer.Context,
    prometheus: PrometheusUrl = None,
    window: Window = "5m",
    interval: Interval = 30,
    once: Once = False,
    trace: Trace = None,
    listen: Listen = "127.0.0.1:9105",
    tokenizer: shared.Tokenizer = None,
    chat_template: shared.ChatTemplate = None,
    block_size: BlockSize = None,
    capacity_blocks: CapacityBlocks = 262_144,
    reuse_model: ReuseModel = None,
    json: shared.Json = False,
) -> None:
    """Watch vLLM servers through their Prometheus, or export the call sites of a recording to one.

    End it with Ctrl-C, or look --once.
    """
    if (prometheus is None) == (trace is None):
        raise InputError(
            "nothing to watch, or two things; give either --prometheus URL or --trace FILE with --listen"
        )
    if json and (not once or trace is not None):
        raise InputError("--json is one document; use it with --prometheus and --once")
    mode, others = ("--trace", _OF_TRACE) if trace is None else ("--prometheus", _OF_PROMETHEUS)
    for name in others:
        if getattr(context.get_parameter_source(name), "name", "") == "COMMANDLINE":
            raise InputError(f"--{name.replace('_', '-')} goes with {mode} only; leave it out")
    if prometheus is not None:
        _watch_servers(prometheus, window, None if once else interval, json=json)
    elif trace is not None:
        from keepwarm.watch.follow import FollowOptions

        options = FollowOptions(trace, tokenizer, chat_template, block_size, capacity_blocks, reuse_model)
        _export(options, None if once else listen)


def _export(options: FollowOptions, listen: str | None) -> None:
    """Serve the metrics of a recording at ``listen``, or print them once for None."""
    from keepwarm.watch.exporter import export, exposition

    if listen is None:
        write_bytes(exposition(options))
        return

    def announce(address: str) -> None:
        write_error(f"following {str(options.trace)!r}; call sites at {address}")

    export(options, listen, announce)


def _watch_servers(url: str, window: str, interval_s: float | None, *, json: bool) -> None:
    """Look every ``interval_s``, or once for None. Who answered once and then does not is asked again."""
    import time

    from keepwarm._errors import ServerError
    from keepwarm._json import to_json
    from keepwarm.watch.prometheus import Prometheus
    from keepwarm.watch.report import render_watched
    from keepwarm.watch.servers import look, watch_document
    from keepwarm.watch.window import window_seconds

    window_seconds(window)
    has_answered = False
    with Prometheus(url) as prometheus:
        while True:
            try:
                watched = look(prometheus, window)
            except ServerError as error:
                if not has_answered:
                    raise
                write_error(f"{error}; looking again in {interval_s:g} s")
            else:
                has_answered = interval_s is not None
                if json:
                    write_bytes(to_json(watch_document(watched)))
                else:
                    width, colour = screen()
                    write_text(render_watched(watched, width=width, colour=colour))
            if interval_s is None:
                return
            write_text("\n")
            time.sleep(interval_s)
