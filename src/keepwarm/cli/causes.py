"""``keepwarm causes``: the causes keepwarm knows, and the documentation of each."""

from __future__ import annotations

from typing import Annotated

import typer

from keepwarm.cli import options as shared
from keepwarm.cli.output import screen, write_bytes, write_text

Code = Annotated[
    str | None, typer.Argument(metavar="CODE", help="Cause to document. Without it: all.", show_default=False)
]


def command(code: Code = None, json: shared.Json = False) -> None:
    """List the causes of a broken prefix, or document one."""
    from keepwarm._json import to_json
    from keepwarm.diagnose.report.causes import (
        causes_document,
        known_causes,
        named,
        render_cause,
        render_causes,
    )

    causes = known_causes()
    chosen = causes if code is None else [named(causes, code)]
    if json:
        write_bytes(to_json(causes_document(chosen)))
        return
    width, colour = screen()
    if code is None:
        write_text(render_causes(chosen, width=width, colour=colour))
    else:
        write_text(render_cause(chosen[0], width=width, colour=colour))
