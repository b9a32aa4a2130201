"""Which sessions were opened for which task, on disk before anything is sent.

An entry that says ``sending`` was written before the request and not touched after it: whether there
is a session is then not known, and none may be opened until it is.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from keepwarm._errors import InputError
from keepwarm._json import decoded

_SCHEMA = "keepwarm.agent-ledger/1"


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One task at one repository. Without ``session`` it is being sent, or its answer was lost."""

    schema: Literal["keepwarm.agent-ledger/1"] = "keepwarm.agent-ledger/1"
    key: str
    repository: str
    finding: str
    max_acu_limit: int
    session: str | None = None
    url: str | None = None


def default_folder() -> Path:
    """Where a user's programs keep their state (XDG base directory specification)."""
    given = os.environ.get("XDG_STATE_HOME", "")
    base = Path(given) if given.startswith("/") else Path.home() / ".local" / "state"
    return base / "keepwarm" / "agents"


class Ledger:
    """One JSON file per key in ``folder``. Every method raises InputError: the folder cannot be used."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextlib.contextmanager
    def locked(self, key: str) -> Iterator[None]:
        """Nobody else submits the same task meanwhile."""
        with self._said(), contextlib.ExitStack() as stack:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle = os.open(self._folder / f"{key}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            stack.callback(os.close, handle)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise InputError("this task is being submitted by another keepwarm; wait for it") from None
            held = stack.pop_all()
        with held:
            yield

    def read(self, key: str) -> Entry | None:
        """What is known of ``key``; None if it was never sent."""
        path = self._path(key)
        with self._said():
            try:
                return decoded(path.read_bytes(), Entry)
            except FileNotFoundError:
                return None
            except msgspec.DecodeError:
                raise InputError(
                    f"{str(path)!r} is damaged, so it is not known whether a session was opened; "
                    "look for one in Devin and delete the file if there is none"
                ) from None

    def write(self, entry: Entry) -> None:
        """Keep ``entry``; it is on the disk when this returns."""
        path = self._path(entry.key)
        with self._said():
            handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=self._folder)
            with os.fdopen(handle, "wb") as file:
                file.write(msgspec.json.format(msgspec.json.encode(entry)) + b"\n")
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).replace(path)
            folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def forget(self, key: str) -> None:
        """It is certain that nothing was opened."""
        with self._said():
            self._path(key).unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        return self._folder / f"{key}.json"

    @contextlib.contextmanager
    def _said(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise InputError(
                f"cannot keep what was sent in {str(self._folder)!r}: {error.strerror or error}; "
                "name a writable folder with --state"
            ) from None
