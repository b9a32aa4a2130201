"""``--out DIR``: the files of a report, each written whole or not at all."""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import NamedTuple

from keepwarm._errors import InputError
from keepwarm._files import write_whole, write_whole_with
from keepwarm._json import to_json
from keepwarm.diagnose.engine import Examination
from keepwarm.diagnose.findings import Diagnosis
from keepwarm.diagnose.report.as_json import diagnosis_document
from keepwarm.diagnose.report.html import to_html
from keepwarm.diagnose.report.map_file import write_map
from keepwarm.diagnose.report.mask import masked
from keepwarm.diagnose.report.parquet import write_parquet
from keepwarm.diagnose.report.template_file import templates_bytes, templates_of
from keepwarm.diagnose.runs import MapRuns
from keepwarm.diagnose.templates import Templates

NAMES = ("report.html", "diagnosis.json", "requests.parquet", "map.parquet", "templates.json")


class Report(NamedTuple):
    """What is written: a diagnosis and templates as they may be shown, and where in prompts the fates are."""

    diagnosis: Diagnosis
    runs: MapRuns
    templates: Templates


class Written(NamedTuple):
    """Where the files of a report are, in the order of ``NAMES``."""

    html: Path
    json: Path
    parquet: Path
    map: Path
    templates: Path


def report_of(examination: Examination, *, revealed: bool) -> Report:
    """The report of an examination; recorded values are masked unless ``revealed``."""
    diagnosis, accounts = examination
    return Report(
        diagnosis if revealed else masked(diagnosis),
        accounts.runs,
        templates_of(examination, revealed=revealed),
    )


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


def write_report(report: Report, directory: Path, *, revealed: bool) -> Written:
    """Write the page and what it is made of, ``NAMES``, making the folder if need be.

    ``report`` is written as it stands: mask it before. Raises InputError when the folder
    cannot be made or a file cannot be written; a file that was there then stays as it was.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"--out: cannot make {str(directory)!r}: {reason}; name another folder") from error
    written = Written(*(directory / name for name in NAMES))
    write_whole(written.html, to_html(report.diagnosis, revealed=revealed))
    write_whole(written.json, to_json(diagnosis_document(report.diagnosis, revealed=revealed)))
    write_whole_with(written.parquet, functools.partial(write_parquet, report.diagnosis.rows))
    write_whole(written.map, write_map(report.runs))
    write_whole(written.templates, templates_bytes(report.templates))
    return written
