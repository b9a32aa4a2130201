"""``--out DIR``: the verdict as JSON and as a page, and what the project's tests printed."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from keepwarm._errors import InputError
from keepwarm._files import write_whole
from keepwarm._json import to_json
from keepwarm.guard.report.html import to_html
from keepwarm.guard.verdict import Verdict, verdict_document


class Written(NamedTuple):
    """Where the files of a verdict are."""

    json: Path
    html: Path


def write_verdict(verdict: Verdict, directory: Path) -> Written:
    """Write ``verdict.json``, ``verdict.html`` and a ``.txt`` for each check that ran a program.

    Raises InputError when the folder cannot be made or a file cannot be written; a file that was there then
    stays as it was.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"--out: cannot make {str(directory)!r}: {reason}; name another folder") from error
    document = verdict_document(verdict)
    written = Written(directory / "verdict.json", directory / "verdict.html")
    for answer in verdict.answers:
        if answer.output:
            write_whole(directory / f"{answer.check}.txt", answer.output.encode("utf-8", "replace"))
    write_whole(written.html, to_html(verdict, digest=document["digest"]))
    write_whole(written.json, to_json(document))
    return written
