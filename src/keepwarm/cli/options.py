"""Options that several commands share, and the check of each."""

from __future__ import annotations

import math
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keepwarm._checks import MOST_BLOCK_TOKENS
from keepwarm._errors import InputError

if TYPE_CHECKING:
    from keepwarm._resources import Resources
    from keepwarm.diagnose.options import Options

_MOST_BLOCKS = 2**40
_SHOWN_CHARACTERS = 80
_KEY_VARIABLES = ("KEEPWARM_API_KEY", "OPENAI_API_KEY")


def rate(value: float | None) -> float | None:
    """A share between 0 and 1."""
    if value is not None and not 0 <= value <= 1:
        raise typer.BadParameter(f"{value!r} is not a rate from 0 to 1; write 0.5 for 50%")
    return value


def seconds(value: float | None) -> float | None:
    """A positive time."""
    if value is not None and not (math.isfinite(value) and value > 0):
        raise typer.BadParameter(f"{value!r} is not a positive number of seconds")
    return value


def amount(value: str | None) -> str | None:
    """A size such as 4GiB."""
    if value is not None:
        from keepwarm._resources import memory_bytes

        try:
            memory_bytes(value)
        except InputError as error:
            raise typer.BadParameter(str(error)) from None
    return value


def name_list(value: str | None) -> str | None:
    """Names with commas between them."""
    if value is not None and not all(names(value)):
        raise typer.BadParameter(f"{value!r} is not a list of names; write lru,belady")
    return value


def count_list(value: str | None) -> str | None:
    """Positive whole numbers with commas between them."""
    if value is not None:
        words = [word.strip() for word in value.split(",")]
        if not all(_is_count(word) for word in words):
            shown = value if len(value) <= _SHOWN_CHARACTERS else f"{value[:_SHOWN_CHARACTERS]}…"
            raise typer.BadParameter(f"{shown!r} is not a list of positive whole numbers; write 512,1024")
    return value


def _is_count(word: str) -> bool:
    # Python refuses to read numbers of thousands of digits.
    return word.isascii() and word.isdigit() and len(word) < 20 and 0 < int(word) <= _MOST_BLOCKS


def names(value: str | None) -> tuple[str, ...]:
    """The entries of a list; none if it was not given."""
    return () if value is None else tuple(word.strip() for word in value.split(","))


def counts(value: str | None) -> tuple[int, ...]:
    """The numbers of a list that ``count_list`` has checked."""
    return tuple(map(int, names(value)))


Trace = Annotated[
    str, typer.Argument(metavar="TRACE", help="Recorded requests, .gz and .zst too.", show_default=False)
]
Format = Annotated[
    str, typer.Option("--format", metavar="NAME", help="Input format; auto reads it from the content.")
]
Tokenizer = Annotated[
    str | None,
    typer.Option(
        "--tokenizer",
        metavar="DIR|NAME|URL",
        help="Tokenizer folder, Hugging Face name, or a running vLLM server. Without it: the built-in one.",
    ),
]
ChatTemplate = Annotated[
    str | None,
    typer.Option(
        "--chat-template", metavar="FILE", help="Jinja chat template. Without it: the tokenizer's own."
    ),
]
BlockSize = Annotated[
    int | None,
    typer.Option(
        "--block-size",
        metavar="N",
        min=1,
        max=MOST_BLOCK_TOKENS,
        help="Tokens per cache block. Without it: what the trace records, else 16.",
    ),
]
CapacityBlocks = Annotated[
    int | None,
    typer.Option(
        "--capacity-blocks",
        metavar="N",
        min=1,
        max=_MOST_BLOCKS,
        help="Usable blocks of the simulated cache (vLLM's number less 1). Without it: unbounded.",
    ),
]
TtlS = Annotated[
    float | None,
    typer.Option(
        "--ttl-s",
        metavar="S",
        callback=seconds,
        help="Seconds after which the provider dropped an unused prefix. Without it: found from the trace.",
    ),
]
Sample = Annotated[
    float | None,
    typer.Option(
        "--sample",
        metavar="RATE",
        help="Diagnose this share of the sessions, as in 0.01; figures then say how far they may be off.",
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        callback=amount,
        help="Peak memory to stay below, as in 4GiB: the rest goes to disk. Without it: what it takes.",
    ),
]
Spill = Annotated[
    Path | None,
    typer.Option(
        "--spill",
        metavar="DIR",
        help="Folder for what --memory leaves no room for; a run that was interrupted goes on from it.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
Reveal = Annotated[
    bool, typer.Option("--reveal", help="Show recorded values instead of their kind and length.")
]


def api_key() -> str | None:
    """The key of the server that is asked; never an option, which other users of the machine can read."""
    return next((key for name in _KEY_VARIABLES if (key := os.environ.get(name))), None)


def resources(memory: str | None, spill: Path | None) -> Resources:
    """What the command may take of the machine. Raises InputError: a place to spill, but no budget."""
    from keepwarm._resources import Resources, memory_bytes

    if spill is not None and memory is None:
        raise InputError("--spill says nothing without a budget; add --memory SIZE, as in 4GiB")
    return Resources(memory_bytes=None if memory is None else memory_bytes(memory), spill=spill)


def trace_options(
    *,
    format: str,  # noqa: A002 - the option's name in the contract
    tokenizer: str | None,
    chat_template: str | None,
    block_size: int | None,
    capacity_blocks: int | None,
    ttl_s: float | None,
    sample: float | None = None,
) -> Options:
    """The options as ``keepwarm.diagnose`` takes them."""
    from keepwarm.diagnose.options import Options

    return Options(
        format=format,
        tokenizer=tokenizer,
        chat_template=chat_template,
        block_size=block_size,
        capacity_blocks=capacity_blocks,
        ttl_s=ttl_s,
        sample=sample,
    )


def words(options: Options) -> str:
    """``options`` as typed in a shell, without those left at their default; begins with a space if any."""
    import msgspec

    given = (
        (field.encode_name, getattr(options, field.name), field.default)
        for field in msgspec.structs.fields(options)
    )
    return "".join(
        f" --{name.replace('_', '-')} {shlex.quote(f'{value:g}' if isinstance(value, float) else str(value))}"
        for name, value, default in given
        if value != default
    )
