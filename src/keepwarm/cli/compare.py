"""``keepwarm compare``: two measured replays, and what changed between them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from keepwarm._errors import InputError
from keepwarm.cli import options as shared
from keepwarm.cli.output import screen, write_bytes, write_text

Before = Annotated[
    Path, typer.Argument(metavar="BEFORE", help="Folder of the run before.", show_default=False)
]
After = Annotated[Path, typer.Argument(metavar="AFTER", help="Folder of the run after.", show_default=False)]
Tokenizer = Annotated[
    str | None,
    typer.Option(
        "--tokenizer",
        metavar="DIR|NAME|URL",
        help="Also simulate with these tokens, from the traces themselves. Without it: with the server's.",
    ),
]
OtherTemplate = Annotated[
    bool,
    typer.Option("--allow-other-template", help="The chat template is what was repaired: let it differ."),
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Decides the resamples.")]
Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="Also keep the comparison as evidence in that folder."),
]


def command(
    before: Before,
    after: After,
    tokenizer: Tokenizer = None,
    chat_template: shared.ChatTemplate = None,
    allow_other_template: OtherTemplate = False,
    seed: Seed = 0,
    out: Out = None,
    json: shared.Json = False,
) -> None:
    """Compare two runs of keepwarm replay: hit rate and TTFT, each with intervals, and what they rest on.

    Runs that do not match are refused, every difference named.
    """
    from keepwarm._json import to_json
    from keepwarm.evidence.folder import check_place
    from keepwarm.replay.comparing import CompareOptions, compare_runs
    from keepwarm.replay.comparing.comparison import comparison_document
    from keepwarm.replay.comparing.files import keep_comparison
    from keepwarm.replay.comparing.simulated import Encoding

    if chat_template is not None and tokenizer is None:
        raise InputError("--chat-template says nothing without --tokenizer; add the model's folder")
    if out is not None:
        check_place(out)
    options = CompareOptions(
        encoding=None if tokenizer is None else Encoding(tokenizer, chat_template),
        other_template=allow_other_template,
        seed=seed,
    )
    compared = compare_runs(before, after, options)
    digest = None if out is None else keep_comparison(out, compared)
    if json:
        write_bytes(to_json(comparison_document(compared.comparison)))
        return
    from keepwarm.replay.comparing.terminal import render_comparison

    width, colour = screen()
    write_text(render_comparison(compared.comparison, width=width, colour=colour))
    if digest is not None:
        write_text(f"\nevidence in {str(out)!r}, chain digest {digest}\n")
