"""``--out DIR``: the three files of a report, each written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from keepwarm._errors import InputError
from keepwarm._files import write_whole
from keepwarm._json import to_json
from keepwarm.diagnose.findings import Diagnosis
from keepwarm.diagnose.report.as_json import diagnosis_document
from keepwarm.diagnose.report.html import to_html
from keepwarm.diagnose.report.parquet import to_parquet


class Written(NamedTuple):
    """Where the files of a report are."""

    html: Path
    json: Path
    parquet: Path


def check_directory(directory: Path) -> None:
    """Refuse, before the long work, a place that cannot become a folder of reports.

    Creates nothing. Raises InputError.
    """
    place = directory
    while not os.path.lexists(place) and place != place.parent:
        place = place.parent
    if not place.is_dir():
        raise InputError(f"--out {str(directory)!r}: {str(place)!r} is not a folder; name another one")
    if not os.access(place, os.W_OK | os.X_OK):
        raise InputError(f"--out {str(directory)!r}: {str(place)!r} is not writable; name another folder")


def write_report(diagnosis: Diagnosis, directory: Path, *, revealed: bool) -> Written:
    """Write ``report.html``, ``diagnosis.json`` and ``requests.parquet``, making the folder if need be.

    ``diagnosis`` is written as it stands: mask it before. Raises InputError when the folder
    cannot be made or a file cannot be written; a file that was there then stays as it was.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"--out: cannot make {str(directory)!r}: {reason}; name another folder") from error
    written = Written(directory / "report.html", directory / "diagnosis.json", directory / "requests.parquet")
    write_whole(written.html, to_html(diagnosis, revealed=revealed))
    write_whole(written.json, to_json(diagnosis_document(diagnosis, revealed=revealed)))
    write_whole(written.parquet, to_parquet(diagnosis.rows))
    return written
