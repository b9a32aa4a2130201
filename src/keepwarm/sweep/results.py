"""What a sweep keeps: a folder of Parquet parts that only grows, and ``rows.parquet`` once it is finished.

A part holds a batch of finished cells, is written whole, and says by a digest that it is as it was
written; one that is not is taken away, and its cells are computed again.
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from keepwarm._errors import InputError
from keepwarm._files import write_whole
from keepwarm.sweep.cells import CellKey, Figures
from keepwarm.sweep.columns import SCHEMA, figures_table
from keepwarm.sweep.keys import digest

BATCH_CELLS, BATCH_S = 256, 5.0
"""A part is written after so many cells, or so many seconds after the last, whichever comes first."""

ROWS = "rows.parquet"
_PARTS, _LOCK = "parts", "lock"
_DIGEST = b"keepwarm.digest"
_UNUSABLE = (OSError, ValueError, KeyError, TypeError, pa.ArrowException)


class Results:
    """The finished cells in ``folder``. ``damaged``: parts that were not as written, and are gone."""

    def __init__(self, folder: Path) -> None:
        """Read what is there. Raises InputError: the disk refuses."""
        self.folder = folder
        self.done: dict[CellKey, Figures] = {}
        self.damaged: list[Path] = []
        self._batch: dict[CellKey, Figures] = {}
        self._written_s = time.monotonic()
        for path in sorted((folder / _PARTS).glob("*.parquet")):
            try:
                content = path.read_bytes()
            except OSError as error:
                raise InputError(f"cannot read {str(path)!r}: {error.strerror}; check the folder") from None
            try:
                self.done.update(_read_part(content))
            except _UNUSABLE:
                self.damaged.append(path)
                path.unlink(missing_ok=True)

    def add(self, key: CellKey, figures: Figures) -> None:
        """Keep a finished cell, on disk with its batch. Raises InputError: it cannot be written."""
        self._batch[key] = figures
        if len(self._batch) >= BATCH_CELLS or time.monotonic() - self._written_s >= BATCH_S:
            self.flush()

    def flush(self) -> None:
        """Write what is not on disk yet. Interrupted, it may be called again."""
        if self._batch:
            batch = dict(sorted(self._batch.items()))
            path = self.folder / _PARTS / f"{digest(*(key.encode() for key in batch))}.parquet"
            write_whole(path, _part(batch))
            self.done |= batch
            self._batch = {}
        self._written_s = time.monotonic()

    def write_rows(self, rows: pa.Table) -> Path:
        """Write ``rows.parquet``; the same bytes for the same rows."""
        path = self.folder / ROWS
        write_whole(path, _parquet(rows))
        return path

    def forget_rows(self) -> None:
        """Take ``rows.parquet`` away: it is there only where it is complete."""
        (self.folder / ROWS).unlink(missing_ok=True)


@contextlib.contextmanager
def opened(folder: Path) -> Iterator[Results]:
    """The results in ``folder``, made if need be, which nobody else may open meanwhile.

    The lock is the kernel's: it goes with the process that holds it, however that ends.

    Raises:
        InputError: it cannot be used, or another sweep is using it.
    """
    if _is_foreign(folder / ROWS):
        raise InputError(
            f"{str(folder / ROWS)!r} is not of a sweep, and would be replaced; name another folder with --out"
        )
    try:
        (folder / _PARTS).mkdir(parents=True, exist_ok=True)
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise InputError(
            f"cannot keep results in {str(folder)!r}: {error.strerror}; name another folder with --out"
        ) from None
    try:
        _lock(lock, folder)
        for left in (*(folder / _PARTS).glob(".*.parquet.*"), *folder.glob(f".{ROWS}.*")):
            left.unlink(missing_ok=True)  # of a process that was killed while it wrote
        yield Results(folder)
    finally:
        os.close(lock)


def _is_foreign(path: Path) -> bool:
    """Whether there is something that no sweep wrote; what cannot be read is for the next who tries."""
    try:
        return SCHEMA.encode() not in (pq.read_schema(path).metadata or {}).values()
    except OSError:
        return False
    except pa.ArrowException:
        return True


def _lock(lock: int, folder: Path) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(lock, 20, 0).decode("ascii", "replace") or "?"
        raise InputError(
            f"another sweep (process {holder}) is writing to {str(folder)!r}; wait for it, or name another "
            "folder with --out"
        ) from None
    os.ftruncate(lock, 0)
    os.pwrite(lock, str(os.getpid()).encode(), 0)


def _part(batch: dict[CellKey, Figures]) -> bytes:
    table = figures_table(batch)
    metadata = {**(table.schema.metadata or {}), _DIGEST: _digest_of(table.to_pylist())}
    return _parquet(table.replace_schema_metadata(metadata))


def _read_part(content: bytes) -> dict[CellKey, Figures]:
    """The cells of a part. Raises one of ``_UNUSABLE`` if it is not as it was written."""
    table = pq.read_table(io.BytesIO(content), use_threads=False)
    records = table.to_pylist()
    if table.schema.metadata[_DIGEST] != _digest_of(records):
        raise ValueError("not as it was written")
    return {record.pop("key"): {name: x for name, x in record.items() if x is not None} for record in records}


def _digest_of(records: Sequence[dict[str, Any]]) -> bytes:
    return digest(msgspec.json.encode(records)).encode()


def _parquet(table: pa.Table) -> bytes:
    file = io.BytesIO()
    pq.write_table(table, file, compression="zstd")
    return file.getvalue()
