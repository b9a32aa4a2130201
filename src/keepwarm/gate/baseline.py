"""What is kept of a trace to compare later ones with: the document ``keepwarm.baseline/1``.

It is committed beside the code, so it is small, the same for the same trace, and holds no prompt text:
call sites are kept as hashes, findings as cause, call site and JSON path. Additions to the fields are
allowed, changes are not.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from keepwarm._errors import InputError
from keepwarm._files import write_whole
from keepwarm._json import decoded, plain, to_json
from keepwarm.gate.sketches import Sketch

SCHEMA = "keepwarm.baseline/1"
_MOST_BYTES = 16 << 20


class Setup(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What hit rates depend on besides the requests; two that differ cannot be compared.

    ``encoding_sha256`` is of the token ids of a fixed conversation: it tells apart tokenizers and chat
    templates that have the same name. ``None`` where no prompt was encoded, or the template refused it.
    """

    tokenizer: str
    chat_template: str
    encoding_sha256: str | None
    block_size: int
    capacity_blocks: int | None
    ttl_s: float | None


class SiteMark(msgspec.Struct, frozen=True, kw_only=True):
    """A call site: what it is recognised by, and how it did. ``name`` only where the metadata has one.

    ``key`` stays the same for as long as the call site is recognised.
    """

    key: str
    name: str | None
    tools: Sketch
    text: Sketch
    requests: int
    prompt_tokens: int
    hit_tokens: int
    hit_rate: float


class FindingMark(msgspec.Struct, frozen=True, kw_only=True):
    """A finding by what stays the same of it: cause, call site (its ``key``) and JSON path."""

    call_site: str
    cause: str
    path: str | None
    recoverable_tokens: int


class Baseline(msgspec.Struct, frozen=True, kw_only=True):
    """A trace as it is compared; sorted, so that a small change of the application is one of the file."""

    schema: str = SCHEMA
    setup: Setup
    requests: int
    prompt_tokens: int
    hit_tokens: int
    hit_rate: float
    call_sites: tuple[SiteMark, ...]
    findings: tuple[FindingMark, ...]


def write_baseline(path: Path, baseline: Baseline) -> None:
    """Write the file whole or not at all. Raises InputError."""
    write_whole(path, to_json(plain(baseline)))


def read_baseline(path: Path) -> Baseline:
    """The baseline in ``path``. Raises InputError: not there, not readable, or something else."""
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except FileNotFoundError as error:
        raise InputError(
            f"no baseline at {str(path)!r}; write one with --write-baseline, look at it and commit it"
        ) from error
    except OSError as error:
        raise InputError(
            f"cannot read the baseline {str(path)!r}: {error.strerror or error}; name a file"
        ) from error
    try:
        baseline = decoded(content[:_MOST_BYTES], Baseline, SCHEMA)
    except msgspec.DecodeError as error:
        raise InputError(
            f"{str(path)!r} is no baseline of keepwarm: {error}; name another file, or write it again"
        ) from error
    keys = {site.key for site in baseline.call_sites}
    strangers = sorted({finding.call_site for finding in baseline.findings} - keys)
    if len(keys) < len(baseline.call_sites) or strangers:
        raise InputError(f"{str(path)!r} was edited: its call sites do not fit together; write it again")
    return baseline
