"""``keepwarm explain``: what became of one request's tokens, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from keepwarm.cli import options as shared
from keepwarm.cli.output import screen, write_bytes, write_text
from keepwarm.cli.progress import progress_bar

if TYPE_CHECKING:
    from keepwarm.diagnose.findings import Diagnosis
    from keepwarm.diagnose.options import Options

RequestName = Annotated[
    str,
    typer.Argument(
        metavar="REQUEST", help="Id of the request, or the number of its line, from 1.", show_default=False
    ),
]


def command(
    trace: shared.Trace,
    request: RequestName,
    format: shared.Format = "auto",  # noqa: A002 - the option's name in the contract
    tokenizer: shared.Tokenizer = None,
    chat_template: shared.ChatTemplate = None,
    block_size: shared.BlockSize = None,
    capacity_blocks: shared.CapacityBlocks = None,
    ttl_s: shared.TtlS = None,
    sample: shared.Sample = None,
    json: shared.Json = False,
    reveal: shared.Reveal = False,
) -> None:
    """Say what became of one request's tokens.

    Shows its tokens by fate, its baseline, where it breaks and why.
    """
    from keepwarm._json import to_json
    from keepwarm.diagnose.report.as_json import request_document
    from keepwarm.diagnose.report.request import findings_of, render_request

    options = shared.trace_options(
        format=format,
        tokenizer=tokenizer,
        chat_template=chat_template,
        block_size=block_size,
        capacity_blocks=capacity_blocks,
        ttl_s=ttl_s,
        sample=sample,
    )
    diagnosis = _diagnose_one(trace, request, options, reveal=reveal)
    row = diagnosis.rows[0]
    if json:
        write_bytes(to_json(request_document(diagnosis, row, findings_of(diagnosis, row), revealed=reveal)))
        return
    width, colour = screen()
    write_text(render_request(diagnosis, row, width=width, colour=colour, revealed=reveal))


def _diagnose_one(trace: str, request: str, options: Options, *, reveal: bool) -> Diagnosis:
    """The diagnosis as it may be shown, with the request that was asked for as its only row."""
    import msgspec

    from keepwarm.diagnose import diagnose
    from keepwarm.diagnose.report.mask import masked
    from keepwarm.diagnose.report.request import find_request

    with progress_bar() as progress:
        diagnosis = diagnose(trace, options, progress)
    one = msgspec.structs.replace(diagnosis, rows=(find_request(diagnosis.rows, request),))
    return one if reveal else masked(one)
