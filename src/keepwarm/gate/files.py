"""The files that a check reads and writes besides the trace and the baseline."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from keepwarm._errors import InputError
from keepwarm._files import check_apart, write_whole
from keepwarm._json import decoded
from keepwarm.repair.task import SCHEMA as TASK_SCHEMA
from keepwarm.repair.task import Task

_AUTO = "auto"
_JOB_SUMMARY = "GITHUB_STEP_SUMMARY"
_MOST_TASK_BYTES = 16 << 20


def check_places(read: Mapping[str, Path], written: Mapping[str, Path | None]) -> None:
    """Refuse, before the long work, files that cannot be written or would overwrite another one.

    Files by what names them, say the option. Creates nothing. Raises InputError.
    """
    check_apart(read, written)
    for option, path in written.items():
        if path is None:
            continue
        if path.is_dir() or not os.access(path.parent, os.W_OK | os.X_OK):
            raise InputError(f"{option} {str(path)!r}: no file can be written there; name another one")


class SummaryFile(NamedTuple):
    """Where a summary goes. GitHub's own file is added to: other tools write there as well."""

    path: Path
    is_shared: bool


def summary_file(wanted: str | None, environment: Mapping[str, str]) -> SummaryFile | None:
    """The file named, or with ``auto`` GitHub's own for this step, none where this is not GitHub."""
    if wanted is None:
        return None
    if wanted != _AUTO:
        return SummaryFile(Path(wanted), is_shared=False)
    job = environment.get(_JOB_SUMMARY)
    return SummaryFile(Path(job), is_shared=True) if job else None


def write_summary(file: SummaryFile, text: str) -> None:
    """Write the summary, or add it. Raises InputError."""
    content = text.encode("utf-8", "replace")
    if not file.is_shared:
        write_whole(file.path, content)
        return
    try:
        with file.path.open("ab") as shared:
            shared.write(content)
    except OSError as error:
        raise InputError(
            f"cannot write {_JOB_SUMMARY} {str(file.path)!r}: {error.strerror or error}; name a file"
        ) from error


def read_tasks(paths: Sequence[Path]) -> list[Task]:
    """The tasks, for the places in the source that they name. Raises InputError."""
    return [_read_task(path) for path in paths]


def _read_task(path: Path) -> Task:
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_TASK_BYTES)
        return decoded(content, Task, TASK_SCHEMA)
    except OSError as error:
        raise InputError(
            f"cannot read the task {str(path)!r}: {error.strerror or error}; name a task.json"
        ) from error
    except msgspec.DecodeError as error:
        raise InputError(
            f"{str(path)!r} is no task of keepwarm: {error}; name a task.json, or export it again"
        ) from error
