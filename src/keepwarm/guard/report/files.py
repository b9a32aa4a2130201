"""``--out DIR``: the verdict as JSON and as a page, changed outputs, and what the project's tests printed."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from keepwarm._errors import InputError
from keepwarm._files import write_whole
from keepwarm._json import plain, to_json
from keepwarm.guard.outputs import ChangedOutputs
from keepwarm.guard.report.html import to_html
from keepwarm.guard.verdict import Verdict, verdict_document

_NONE = ChangedOutputs()


class Written(NamedTuple):
    """Where the files of a verdict are."""

    json: Path
    html: Path
    outputs: Path


def write_verdict(verdict: Verdict, directory: Path, outputs: ChangedOutputs = _NONE) -> Written:
    """Write ``verdict.json``, ``verdict.html``, ``outputs.json`` and a ``.txt`` a check that ran a program.

    ``verdict.json`` comes last: what lies beside it is then of the same verdict.

    Raises InputError when the folder cannot be made or a file cannot be written; a file that was there then
    stays as it was.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"--out: cannot make {str(directory)!r}: {reason}; name another folder") from error
    document = verdict_document(verdict)
    written = Written(directory / "verdict.json", directory / "verdict.html", directory / "outputs.json")
    for answer in verdict.answers:
        if answer.output:
            write_whole(directory / f"{answer.check}.txt", answer.output.encode("utf-8", "replace"))
    write_whole(written.outputs, to_json(plain(outputs)))
    write_whole(written.html, to_html(verdict, digest=document["digest"]))
    write_whole(written.json, to_json(document))
    return written
