"""A task on disk: ``task.md`` for whoever carries it out, ``task.json`` beside it for the guard."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from keepwarm._errors import InputError
from keepwarm._files import write_whole
from keepwarm._json import plain, to_json
from keepwarm.repair.markdown import to_markdown
from keepwarm.repair.task import Task


class WrittenTask(NamedTuple):
    """Where the two files are."""

    markdown: Path
    json: Path


def check_target(out: Path) -> None:
    """Refuse, before the long work, a name under which nothing can be written. Raises InputError."""
    if out.suffix == ".json" or out.is_dir() or not out.name:
        raise InputError(f"--out {str(out)!r} has to name a Markdown file; write for instance --out task.md")
    folder = out.parent
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"--out {str(out)!r}: {str(folder)!r} is not a writable folder; name another one")


def write_task(task: Task, out: Path) -> WrittenTask:
    """Write both files; if the second cannot be written the first is taken back.

    Raises:
        InputError: one cannot be written; files that were there stay as they were.
    """
    written = WrittenTask(out, out.with_suffix(".json"))
    document = to_json(plain(task))
    page = to_markdown(task).encode("utf-8", "backslashreplace")
    before = written.json.read_bytes() if written.json.is_file() else None
    write_whole(written.json, document)
    try:
        write_whole(written.markdown, page)
    except InputError:
        if before is None:
            written.json.unlink(missing_ok=True)
        else:
            write_whole(written.json, before)
        raise
    return written
