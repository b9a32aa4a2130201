"""Several files change together or not at all.

New contents are written and flushed beside their targets first, with a copy of what stands there. Then each
is renamed into place, which a file system does whole or not at all. If any step fails the copies are renamed
back, for which no space is needed. A process that is killed between two renames is the manifest's business:
it is the first file to come and the last to go.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from keepwarm._errors import InputError

_NEW, _OLD = ".keepwarm-new", ".keepwarm-old"
NEW_FILE_MODE = 0o644


class Write(NamedTuple):
    """What a file is to hold; ``None`` removes it."""

    target: Path
    content: bytes | None
    mode: int = NEW_FILE_MODE


def write_all(writes: Sequence[Write]) -> None:
    """Carry out every write, in order, or none. Raises InputError if the system refuses one."""
    done: list[Write] = []
    try:
        for write in writes:
            _prepare(write)
        for write in writes:
            done.append(write)  # before: if the rename is interrupted nobody knows whether it happened
            _commit(write)
        _flush_folders(writes)
    except BaseException as error:
        _put_back(done)
        if isinstance(error, OSError):
            raise InputError(f"cannot write {_place(error, writes)}; nothing was changed") from error
        raise
    finally:
        clean_up(write.target for write in writes)


def clean_up(targets: Iterable[Path]) -> None:
    """Remove what a process that was killed left beside its targets."""
    for target in targets:
        for suffix in (_NEW, _OLD):
            with contextlib.suppress(OSError):
                _beside(target, suffix).unlink()


def _prepare(write: Write) -> None:
    if write.target.exists():
        _write_beside(write.target, _OLD, write.target.read_bytes(), write.target.stat().st_mode)
    if write.content is not None:
        _write_beside(write.target, _NEW, write.content, write.mode)


def _commit(write: Write) -> None:
    if write.content is not None:
        _beside(write.target, _NEW).replace(write.target)
    elif write.target.exists():
        write.target.unlink()


def _put_back(done: Sequence[Write]) -> None:
    """Last first, so that the manifest stays if this fails half-way."""
    for write in reversed(done):
        old = _beside(write.target, _OLD)
        try:
            if old.exists():
                old.replace(write.target)
            else:
                write.target.unlink(missing_ok=True)
        except OSError as error:
            place = _place(error, done)
            raise InputError(f"cannot put back {place}; when it can be, `keepwarm vllm uninstall`") from error


def _write_beside(target: Path, suffix: str, content: bytes, mode: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
    with open(os.open(_beside(target, suffix), flags, 0o600), "wb") as file:  # noqa: PTH123 - a descriptor
        file.write(content)
        file.flush()
        os.fchmod(file.fileno(), mode & 0o7777)
        if target.exists():  # root works in a tree of somebody else's
            with contextlib.suppress(PermissionError):
                os.fchown(file.fileno(), target.stat().st_uid, target.stat().st_gid)
        os.fsync(file.fileno())


def _flush_folders(writes: Sequence[Write]) -> None:
    for folder in {write.target.parent for write in writes}:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _beside(target: Path, suffix: str) -> Path:
    return target.with_name(f".{target.name}{suffix}")


def _place(error: OSError, writes: Sequence[Write]) -> str:
    return f"{error.filename or str(writes[0].target.parent)!r}: {error.strerror or error}"
