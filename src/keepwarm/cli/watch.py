"""``keepwarm watch``: servers as a Prometheus sees them, now and again."""

from __future__ import annotations

from typing import Annotated

import typer

from keepwarm._errors import InputError
from keepwarm.cli import options as shared
from keepwarm.cli.output import screen, write_bytes, write_text

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


def command(
    prometheus: PrometheusUrl = None,
    window: Window = "5m",
    interval: Interval = 30,
    once: Once = False,
    json: shared.Json = False,
) -> None:
    """Watch vLLM servers through their Prometheus: hit rate, thrash, modes, and the alerts that hold."""
    if prometheus is None:
        raise InputError("nothing to watch; give --prometheus the address of a Prometheus")
    if json and not once:
        raise InputError("--json is one document; add --once")
    _watch_servers(prometheus, window, None if once else interval, json=json)


def _watch_servers(url: str, window: str, interval_s: float | None, *, json: bool) -> None:
    """Look every ``interval_s``, or once for None."""
    import time

    from keepwarm._json import to_json
    from keepwarm.watch.prometheus import Prometheus
    from keepwarm.watch.report import render_watched
    from keepwarm.watch.servers import look, watch_document
    from keepwarm.watch.window import window_seconds

    window_seconds(window)
    with Prometheus(url) as prometheus:
        while True:
            watched = look(prometheus, window)
            if json:
                write_bytes(to_json(watch_document(watched)))
            else:
                width, colour = screen()
                write_text(render_watched(watched, width=width, colour=colour))
            if interval_s is None:
                return
            write_text("\n")
            time.sleep(interval_s)
