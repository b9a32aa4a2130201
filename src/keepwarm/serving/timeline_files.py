"""Timelines as files of a folder, one a run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from keepwarm._errors import InputError
from keepwarm._files import write_whole
from keepwarm._json import plain, to_json
from keepwarm.serving.options import ServingOptions
from keepwarm.serving.timeline import Timeline


class TimelineFolder(NamedTuple):
    """Where to write, and which file the runs are of."""

    path: Path
    trace_sha256: str

    def write(self, run: ServingOptions, timeline: Timeline) -> None:
        """The same bytes for the same run, floats to six digits. Raises InputError: it cannot be written."""
        write_whole(self.path / timeline_name(run), to_json(plain(timeline)))


def make_folder(path: Path) -> None:
    """Before the work. Raises InputError: it cannot be made, or nothing can be written there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"timelines {str(path)!r}: {reason}; name a folder that is there or can be made"
        ) from None
    if not os.access(path, os.W_OK):
        raise InputError(f"timelines {str(path)!r} is not writable; name another folder")


def timeline_name(run: ServingOptions) -> str:
    """The file of a run."""
    return f"timeline-{run.scheduling}-{run.eviction}-{run.sessions}-{run.seed}.json"
