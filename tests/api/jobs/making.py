"""What tests of jobs share: a folder to ask from, a call, and waiting."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from keepwarm.api.jobs.jobs import Jobs
from keepwarm.api.jobs.recorded import Recorded, recorded_of
from keepwarm.api.library.library import Library
from keepwarm.api.schema.jobs import Job
from keepwarm.diagnose.reorder import ReorderCall

CALL = ReorderCall(call_site="site-1", findings=("F2", "F5"))
PATIENCE_S = 60.0


class Desk(NamedTuple):
    """A folder with a diagnosis and its trace beside it, to be spoilt at will."""

    root: Path
    trace: Path

    @property
    def recorded(self) -> Recorded:
        library = Library(self.root, revealed=False)
        return recorded_of(library.find(library.items("diagnosis")[0].id, "diagnosis"))


def until(true: Callable[[], bool]) -> None:
    end_s = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < end_s, "it never came true"
        time.sleep(0.01)


def ended(jobs: Jobs, job: Job) -> Job:
    until(lambda: jobs.get(job.id).state in ("done", "failed", "cancelled"))
    return jobs.get(job.id)


def is_alive(pid: int) -> bool:
    """Whether a process of that id runs; a dead one that nobody has waited for does not."""
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
